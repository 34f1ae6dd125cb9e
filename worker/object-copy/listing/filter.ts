import type { Config } from "#worker/command-line/config.ts";
import { readGlob } from "#worker/command-line/glob.ts";

/** Tells whether a command applies to a file, by name, size and age. */
export type Filter = (file: { relative: string; sizeBytes: number; modifiedAtMs: number | null }) => boolean;

/**
 * Returns the filter of a command line. The first rule that matches decides; a file that no rule matches is accepted, unless
 * the first rule is an --include. A file without a date is never left out by its age.
 * @throws Fault BAD_INPUT naming a glob that cannot be read.
 */
export function readFilter(config: Config, nowMs: number): Filter {
  const rules = config.rules.map(({ takes, glob }) => ({
    takes,
    matches: readGlob(takes ? "include" : "exclude", glob),
  }));
  const takesRest = rules[0]?.takes !== true;
  const [least, most] = [config.size("min-size") ?? 0, config.size("max-size") ?? Infinity];
  // Without the flags the bounds are infinite, because clocks differ and a file's date may lie in the future.
  const age = (name: "min-age" | "max-age") => (config.text(name) === null ? null : config.durationMs(name));
  const [youngest, oldest] = [age("min-age") ?? -Infinity, age("max-age") ?? Infinity];
  return ({ relative, sizeBytes, modifiedAtMs }) => {
    if (sizeBytes < least || sizeBytes > most) return false;
    if (modifiedAtMs !== null && (nowMs - modifiedAtMs < youngest || nowMs - modifiedAtMs > oldest)) return false;
    return rules.find((rule) => rule.matches(relative))?.takes ?? takesRest;
  };
}
