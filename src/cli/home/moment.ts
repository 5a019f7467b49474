/** A time as people read it, in their own time zone, always as wide. */
export function moment(time: number): string {
  const date = new Date(time);
  const two = (part: number): string => String(part).padStart(2, "0");
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-");
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}
