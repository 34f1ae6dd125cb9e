/** What a program wrote as its last line, when that is JSON; else null. */
export function lastLine(out: string): unknown {
  try {
    return JSON.parse(out.trimEnd().split("\n").at(-1) ?? "");
  } catch {
    return null;
  }
}
