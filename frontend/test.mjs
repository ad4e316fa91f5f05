// Bundles each test with esbuild and runs all with Node's own runner: no transpiler in between that Node 18 would lack.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const out = mkdtempSync(join(tmpdir(), "firstbyte-frontend-"));
const tests = readdirSync(join(HERE, "tests")).filter((name) => name.endsWith(".test.ts"));

await build({
  absWorkingDir: HERE,
  entryPoints: tests.map((name) => join("tests", name)),
  outdir: out,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node18",
  logLevel: "warning",
});
const built = tests.map((name) => join(out, name.replace(/\.ts$/, ".mjs")));
const { status } = spawnSync(process.execPath, ["--test", ...built], { stdio: "inherit" });
rmSync(out, { recursive: true, force: true });
process.exit(status ?? 1);
