import { dirname, resolve, sep } from "node:path";
import { Fault } from "#protocol/faults/fault.ts";
import type { RunName } from "#protocol/base/names.ts";
import type { Watch } from "#worker/capture/watch.ts";

/**
 * Returns the run that a program means: the one it names, the one whose watched folder holds the path, or the only one. @throws
 * Fault BAD_INPUT when none of these applies
 */
export function whichRun(
  watches: readonly Watch[],
  about: { run?: RunName | undefined; path?: string | undefined },
): RunName {
  if (about.run !== undefined) return about.run;
  const { path } = about;
  const around = path === undefined ? undefined : watches.find(({ folder }) => isIn(folder, path));
  const runs = [...new Set(watches.map(({ run }) => run))];
  const [only, another] = runs;
  const found = around?.run ?? (another === undefined ? only : undefined);
  if (found !== undefined) return found;
  const names = runs.join(", ");
  const detail = names === "" ? "name the run: this worker watches none" : `name the run: this worker writes ${names}`;
  throw new Fault("BAD_INPUT", { op: "local", subject: "run", detail });
}

const isIn = (folder: string, path: string): boolean =>
  dirname(resolve(path))
    .concat(sep)
    .startsWith(folder + sep);
