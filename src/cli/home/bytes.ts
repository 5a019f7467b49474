const units = ["B", "KB", "MB", "GB", "TB"];

/** As people read sizes: powers of 1,000, three digits. */
export function printedBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return `${value.toFixed(digits)} ${units[unit]!}`;
}
