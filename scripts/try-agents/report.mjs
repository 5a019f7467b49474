// What people read of a trial.

const WIDTH = 22;

export function passed({ checks }) {
  return checks.every(({ ok }) => ok);
}

export function heading(report) {
  return `${report.title} ${report.version}: ${passed(report) ? "passed" : "FAILED"}`;
}

export function lines({ checks }) {
  const each = checks.flatMap(({ name, ok, found }) => {
    const [first = "", ...rest] = found.trimEnd().split("\n");
    const indent = " ".repeat(WIDTH + 10);
    const head = `  ${ok ? "ok    " : "FAILED"}  ${name.padEnd(WIDTH)}`;
    return [`${head}${first}`, ...rest.map((line) => `${indent}${line}`)];
  });
  return `${each.join("\n")}\n`;
}

export function summary(reports) {
  const failed = reports.filter((report) => !passed(report)).map(({ title }) => title);
  const all = `${reports.length - failed.length} of ${reports.length} agents passed`;
  return failed.length === 0 ? `${all}.` : `${all}; not ${failed.join(", ")}.`;
}
