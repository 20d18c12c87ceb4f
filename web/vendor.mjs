// Copies the chart library's builds into the Python package, each with the licences of what it holds.
//
//   node vendor.mjs           write src/kernelprof/report/writers/html/vendor/
//   node vendor.mjs --check   say whether that folder is what the lock file's packages give

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const modules = join(here, "node_modules");
const target = join(here, "..", "src", "kernelprof", "report", "writers", "html", "vendor");

// In the order in which a page has to load them.
const builds = [
  ["vega", "build/vega.min.js"],
  ["vega-lite", "build/vega-lite.min.js"],
  ["vega-embed", "build/vega-embed.min.js"],
];

// Dependencies of the packages' command lines and types, which no browser build holds.
const notInBuilds = new Set(["yargs", "commander", "iconv-lite", "rw"]);

const manifest = (name) => JSON.parse(readFileSync(join(modules, name, "package.json"), "utf8"));

function bundled(name, seen = new Set()) {
  if (seen.has(name) || notInBuilds.has(name) || name.startsWith("@types/")) return seen;
  seen.add(name);
  for (const dependency of Object.keys(manifest(name).dependencies ?? {})) bundled(dependency, seen);
  return seen;
}

function licenceText(name) {
  const file = readdirSync(join(modules, name)).find((entry) => /^licen[cs]e(\.|$)/i.test(entry));
  if (!file) throw new Error(`${name} has no licence file`);
  return readFileSync(join(modules, name, file), "utf8").replaceAll("\r", "").trim();
}

// One text for all packages that say the same but for the copyright lines.
function licences(name) {
  const groups = new Map();
  for (const part of [...bundled(name)].sort()) {
    const lines = licenceText(part).split("\n");
    const isHolder = (line) => /^\s*copyright\b.*(\d{4}|\(c\))/i.test(line);
    const body = lines.filter((line) => !isHolder(line)).join("\n").trim();
    const key = body.replace(/[\s*]+/g, " ").toLowerCase();
    const group = groups.get(key) ?? { parts: [], holders: new Set(), body };
    group.parts.push(`${part} ${manifest(part).version}`);
    for (const line of lines.filter(isHolder)) group.holders.add(line.trim());
    groups.set(key, group);
  }
  return [...groups.values()]
    .map(({ parts, holders, body }) => [parts.join(", "), [...holders].join("\n"), body])
    .map((texts) => texts.filter(Boolean).join("\n\n"))
    .join("\n\n----\n\n");
}

function build(name, path) {
  const { version, license } = manifest(name);
  const code = readFileSync(join(modules, name, path), "utf8")
    .replace(/^\/\/# sourceMappingURL=.*$/gm, "")
    .trim();
  const notice = `${name} ${version} (${license}) and what it is built from:\n\n${licences(name)}`;
  const text = `/*!\n${notice.replaceAll("*/", "* /")}\n*/\n${code}\n`;
  if (/<\/script|<script|<!--/i.test(text)) throw new Error(`${name} cannot stand inside a page`);
  return { name, version, license, file: path.split("/").at(-1), text, notice };
}

const built = builds.map(([name, path]) => build(name, path));
const versions = built.map(({ name, version, license, file, text }) => ({
  name,
  version,
  file,
  bytes: Buffer.byteLength(text),
  sha256: createHash("sha256").update(text).digest("hex"),
  licence: license,
}));
const files = new Map(built.map(({ file, text }) => [file, text]));
files.set("versions.json", `${JSON.stringify(versions, null, 2)}\n`);
files.set("LICENSES.txt", `${built.map(({ notice }) => notice).join("\n\n====\n\n")}\n`);

if (process.argv.includes("--check")) {
  const read = (file) => (existsSync(join(target, file)) ? readFileSync(join(target, file), "utf8") : null);
  const wrong = [...files].filter(([file, text]) => read(file) !== text).map(([file]) => file);
  if (wrong.length) {
    console.error(`not what the lock file gives (make vendor writes them): ${wrong.join(", ")}`);
    process.exit(1);
  }
} else {
  mkdirSync(target, { recursive: true });
  for (const [file, text] of files) writeFileSync(join(target, file), text);
}
for (const { name, version, bytes } of versions) console.log(`${name} ${version}: ${bytes} bytes`);
