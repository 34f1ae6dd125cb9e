import { parseJsonOrNull } from "#protocol/base/parse-json-or-null.ts";

/** Returns a program's last line parsed as JSON; null when the line is not JSON. */
export const lastLine = (out: string): unknown => parseJsonOrNull(out.trimEnd().split("\n").at(-1) ?? "");
