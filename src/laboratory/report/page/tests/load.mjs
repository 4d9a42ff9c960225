// Modules of the page, compiled for Node.js.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

export async function load(file) {
  const entry = fileURLToPath(new URL(`../src/${file}`, import.meta.url));
  const { outputFiles } = await build({ entryPoints: [entry], bundle: true, format: "esm", write: false });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}
