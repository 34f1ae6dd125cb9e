import { usage } from "./command-context.ts";

/**
 * Globs in rclone's syntax: `*` and `?` stay inside one segment, `**` crosses segments, `[a-z]` and `{a,b}` are choices. A
 * leading `/` anchors the glob at the top; without it, a match may begin at any segment. A trailing `/` means all below.
 */

/** Returns a matcher of `/`-separated relative paths, or the reason why the glob cannot be read. */
export function compileGlob(glob: string): { matches(path: string): boolean } | { reason: string } {
  const isTied = glob.startsWith("/");
  const body = (isTied ? glob.slice(1) : glob) + (glob.endsWith("/") ? "**" : "");
  if (body === "") return { reason: "the glob is empty" };
  const source = sourceOf(body);
  if (typeof source !== "string") return source;
  const pattern = new RegExp(`${isTied ? "^" : "(?:^|/)"}${source}$`, "su");
  return { matches: (path) => pattern.test(path) };
}

/** Returns the matcher of a glob that was given with a flag. @throws Fault BAD_INPUT naming the flag and the glob */
export function readGlob(flag: string, glob: string): (path: string) => boolean {
  const compiled = compileGlob(glob);
  if ("reason" in compiled) throw usage(`--${flag} ${glob}`, compiled.reason);
  return compiled.matches;
}

function sourceOf(glob: string): string | { reason: string } {
  let source = "";
  let braces = 0;
  for (let at = 0; at < glob.length; at++) {
    const sign = glob.charAt(at);
    if (sign === "\\") {
      const next = glob.charAt(++at);
      if (next === "") return { reason: "it ends with a backslash" };
      source += escaped(next);
    } else if (sign === "*") {
      const isDeep = glob.charAt(at + 1) === "*";
      if (isDeep) at++;
      // `**/` also matches no folder at all.
      const isFolders = isDeep && glob.charAt(at + 1) === "/" && (at === 1 || glob.charAt(at - 2) === "/");
      if (isFolders) at++;
      source += isFolders ? "(?:.*/)?" : isDeep ? ".*" : "[^/]*";
    } else if (sign === "?") source += "[^/]";
    else if (sign === "[") {
      const found = /^\[([!^]?)((?:\\.|[^\]\\])+)\]/su.exec(glob.slice(at));
      if (found === null) return { reason: "a [ is never closed" };
      const [whole, not = "", signs = ""] = found;
      source += `(?!/)[${not === "" ? "" : "^"}${signs.replaceAll(/\\(.)/gsu, "$1").replaceAll(/[[\]\\^&|~]/g, "\\$&")}]`;
      at += whole.length - 1;
    } else if (sign === "{") {
      braces++;
      source += "(?:";
    } else if (sign === "}" && braces > 0) {
      braces--;
      source += ")";
    } else source += sign === "," && braces > 0 ? "|" : escaped(sign);
  }
  return braces === 0 ? source : { reason: "a { is never closed" };
}

const escaped = (sign: string): string => sign.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&");
