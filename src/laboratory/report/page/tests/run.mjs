// Runs the cases of a test, {name: function}, one after the other, and says how each ended. Returns the exit code.
export async function run(tests) {
  let failed = 0;
  for (const [name, test] of Object.entries(tests))
    try {
      await test();
      console.log(`ok ${name}`);
    } catch (error) {
      ++failed;
      console.log(`FAILED ${name}: ${error.message}`);
    }
  return failed ? 1 : 0;
}
