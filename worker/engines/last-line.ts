/** Returns a program's last line parsed as JSON; null when the line is not JSON. */
export function lastLine(out: string): unknown {
  try {
    return JSON.parse(out.trimEnd().split("\n").at(-1) ?? "");
  } catch {
    return null;
  }
}
