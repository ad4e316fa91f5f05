// Bundles the sources into backend/web/static/dist. The result is committed, so that a user needs no Node; `--check` builds
// in memory and says which committed file differs.
import { build } from "esbuild";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const DIST = fileURLToPath(new URL("../backend/web/static/dist/", import.meta.url));
const MAX_BYTES = 400_000;

const { outputFiles } = await build({
  absWorkingDir: HERE,
  entryPoints: ["src/app.ts", "src/charts.ts", "src/styles/app.css"],
  entryNames: "[name]",
  outdir: DIST,
  bundle: true,
  write: false,
  minify: true,
  format: "iife",
  target: ["chrome123", "firefox120", "safari17.5"],
  charset: "utf8",
  legalComments: "inline",
  logLevel: "warning",
});

const total = outputFiles.reduce((sum, file) => sum + file.contents.length, 0);
if (total > MAX_BYTES) {
  console.error(`The bundle has ${total} bytes; at most ${MAX_BYTES} are allowed.`);
  process.exit(1);
}
if (process.argv.includes("--check")) await check();
else await write();

async function write() {
  await mkdir(DIST, { recursive: true });
  for (const file of outputFiles) {
    await writeFile(file.path, file.contents);
    console.log(`${basename(file.path)}  ${file.contents.length} bytes`);
  }
}

async function check() {
  const stale = [];
  for (const file of outputFiles) {
    const committed = await readFile(file.path).catch(() => Buffer.alloc(0));
    if (!committed.equals(Buffer.from(file.contents))) stale.push(basename(file.path));
  }
  if (stale.length === 0) return;
  console.error(`Not built from these sources: ${stale.join(", ")}. Run "npm run build" and commit the result.`);
  process.exit(1);
}
