// Two builds: the page as one HTML file, and (--mode plots) the program that draws plots under Node.js.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig, type Plugin } from "vite";

const out = process.env.LATHE_PAGE_OUT ?? "dist";
/** The packages whose code is in the page, and whose notices it shows. The build fails where the list is wrong. */
const bundled = ["echarts", "tslib", "zrender"];
const noticesFile = join(__dirname, "THIRD-PARTY-NOTICES.txt");

function noticesText(): string {
  let text = "The page of lathe report contains code of these packages.\n";
  for (const name of bundled) {
    const folder = join(__dirname, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    text += `\n${"=".repeat(80)}\n${name} ${version} (${license})\n${"=".repeat(80)}\n`;
    for (const file of ["NOTICE", "LICENSE", "LICENSE.txt"])
      if (existsSync(join(folder, file))) text += `\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
  }
  return text;
}

/** `import notices from "virtual:notices"`; keeps THIRD-PARTY-NOTICES.txt equal to what is bundled. */
function notices(): Plugin {
  const id = "\0virtual:notices";
  return {
    name: "lathe-notices",
    resolveId: (source) => (source === "virtual:notices" ? id : undefined),
    load(source) {
      if (source !== id) return undefined;
      const text = noticesText();
      if (process.env.LATHE_WRITE_NOTICES) writeFileSync(noticesFile, text);
      if (readFileSync(noticesFile, "utf8") !== text)
        throw new Error(`${noticesFile} differs from what is bundled: LATHE_WRITE_NOTICES=1 npm run build`);
      return `export default ${JSON.stringify(text)};`;
    },
    generateBundle(_options, bundle) {
      const found = new Set<string>();
      for (const chunk of Object.values(bundle))
        for (const module of chunk.type === "chunk" ? Object.keys(chunk.modules) : []) {
          const name = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(module)?.[1];
          if (name) found.add(name);
        }
      const names = [...found].sort().join(", ");
      if (names !== bundled.join(", "))
        throw new Error(`bundled are ${names}, vite.config.ts lists ${bundled.join(", ")}`);
    },
  };
}

/** Puts scripts and styles into the HTML file. */
function oneFile(): Plugin {
  return {
    name: "lathe-one-file",
    enforce: "post",
    generateBundle(_options, bundle) {
      const page = bundle["index.html"];
      if (page?.type !== "asset") throw new Error("no index.html was built");
      let html = String(page.source);
      for (const [file, item] of Object.entries(bundle)) {
        if (item === page) continue;
        const content = item.type === "chunk" ? item.code : String(item.source);
        const before = html;
        // A function as replacement: `$&` in code means nothing.
        if (item.type === "chunk")
          html = html
            .replace(new RegExp(`<script[^>]*src="[^"]*${file}"[^>]*></script>`), "")
            .replace(
              "</body>",
              () => `<script type="module">${content.replaceAll("</script", "<\\/script")}</script></body>`,
            );
        else html = html.replace(new RegExp(`<link[^>]*href="[^"]*${file}"[^>]*>`), () => `<style>${content}</style>`);
        if (html === before) throw new Error(`${file}: index.html does not name it`);
        delete bundle[file];
      }
      page.fileName = "report.html";
      page.source = html;
    },
  };
}

export default defineConfig(({ mode }) => ({
  root: __dirname,
  plugins: mode === "plots" ? [] : [notices(), oneFile()],
  define: { "process.env.NODE_ENV": '"production"' },
  logLevel: "warn",
  build: {
    outDir: out,
    emptyOutDir: false,
    minify: "esbuild",
    target: mode === "plots" ? "node18" : ["chrome100", "firefox100", "safari15"],
    modulePreload: false,
    chunkSizeWarningLimit: 4000,
    ...(mode === "plots"
      ? {
          ssr: "src/svg/main.ts",
          rollupOptions: { output: { entryFileNames: "plots.mjs", inlineDynamicImports: true } },
        }
      : { cssCodeSplit: false, rollupOptions: { output: { inlineDynamicImports: true } } }),
  },
  ssr: { noExternal: true },
}));
