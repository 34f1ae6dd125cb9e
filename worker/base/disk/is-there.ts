import { access } from "node:fs/promises";

/** Returns whether a path leads to something, through links. No faults: what cannot be reached is not there. */
export const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
