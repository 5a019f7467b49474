// Fails on an import against the table of scripts/layers.json.
//
//   node scripts/check-layers.mjs [root]
//
// Looks at every import of src/: static, type-only, `export … from`, `import()` of a literal, and
// `import("…")` types. Rules:
//   - a room imports only the rooms its row names, and another room only through its index.ts;
//   - a room that also runs in browsers imports no built-in module of Node;
//   - a room with a list of packages imports only those;
//   - nothing in src/ imports a file outside src/, except that tests may import below test/.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "oxc-parser";

const root = resolve(process.argv[2] ?? fileURLToPath(new URL("..", import.meta.url)));
const table = JSON.parse(readFileSync(new URL("layers.json", import.meta.url), "utf8"));

const importing = new Set([
  "ImportDeclaration",
  "ExportNamedDeclaration",
  "ExportAllDeclaration",
  "ImportExpression",
  "TSImportType",
  "TSExternalModuleReference",
]);

const broken = sourceFiles().flatMap(checkFile);
for (const line of broken) process.stdout.write(`${line}\n`);
if (broken.length > 0) {
  process.stdout.write(`${broken.length} against the layers (scripts/layers.json).\n`);
  process.exitCode = 1;
}

function sourceFiles() {
  const src = join(root, "src");
  if (!existsSync(src)) return [];
  return readdirSync(src, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.[cm]?[jt]sx?$/.test(entry.name))
    .map((entry) => slashed(relative(root, join(entry.parentPath, entry.name))))
    .toSorted();
}

function checkFile(file) {
  const [, room, inside] = file.split("/");
  if (inside === undefined) return [`${file}: src/ itself holds only rooms, no files.`];
  const rule = table.rooms[room];
  if (rule === undefined) return [`${file}: there is no room "${room}" in the table.`];
  const text = readFileSync(join(root, file), "utf8");
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) return [`${file}: cannot be read: ${errors[0].message}`];
  const where = { file, room, rule, isTest: /\.test\.[cm]?[jt]sx?$/.test(file) };
  return importsOf(program).flatMap(({ specifier, start }) => {
    const reason = refusal(where, specifier);
    const line = text.slice(0, start).split("\n").length;
    return reason === null ? [] : [`${file}:${line}: import of "${specifier}": ${reason}`];
  });
}

/** Why this import breaks the table, or null. */
function refusal({ file, room, rule, isTest }, specifier) {
  if (isBuiltin(specifier)) {
    const refused = rule.browser === true && !isTest;
    return refused ? `${room} also runs in browsers and may not import Node's modules.` : null;
  }
  if (!/^\.{0,2}(\/|$)/.test(specifier)) return refusedPackage(room, rule, isTest, specifier);
  const target = slashed(relative(root, resolve(root, dirname(file), specifier)));
  const [top, otherRoom, ...door] = target.split("/");
  if (isTest && top === "test") return null;
  if (top !== "src") return `${target} is outside src/.`;
  if (otherRoom === room) return null;
  if (table.rooms[otherRoom] === undefined) return `there is no room "${otherRoom}" in the table.`;
  return refusedRoom(room, rule, otherRoom, door.join("/"));
}

function refusedRoom(room, rule, otherRoom, door) {
  const doors = rule.imports.filter((entry) => entry.startsWith(`${otherRoom}/`));
  const files = doors.flatMap((entry) => [`${entry}.ts`, `${entry}/index.ts`]);
  if (files.includes(`${otherRoom}/${door}`)) return null;
  if (rule.imports.includes(otherRoom)) {
    return door === "index.ts" ? null : `${otherRoom} is entered only through its index.ts.`;
  }
  return `${room} may import ${rule.imports.join(", ") || "no other room"}.`;
}

function refusedPackage(room, rule, isTest, specifier) {
  if (rule.packages === undefined) return null;
  const allowed = isTest ? [...rule.packages, ...table.tests.packages] : rule.packages;
  const name = specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
  if (allowed.includes(name)) return null;
  return `${room}${isTest ? " (in a test)" : ""} may use the packages ${allowed.join(", ")}.`;
}

function importsOf(program) {
  const found = [];
  const visit = (node) => {
    if (Array.isArray(node)) {
      for (const child of node) visit(child);
      return;
    }
    if (node === null || typeof node !== "object") return;
    const specifier = importing.has(node.type) ? literal(node.source ?? node.expression) : null;
    if (specifier !== null) found.push({ specifier, start: node.start });
    for (const child of Object.values(node)) visit(child);
  };
  visit(program);
  return found;
}

function literal(node) {
  if (node?.type === "Literal" && typeof node.value === "string") return node.value;
  if (node?.type === "TemplateLiteral" && node.quasis.length === 1) {
    return node.quasis[0].value.cooked;
  }
  return null;
}

function slashed(path) {
  return path.split(sep).join("/");
}
