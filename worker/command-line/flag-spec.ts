import type { CommandName } from "./commands.ts";

/** `list` may be given several times (in the environment: separated by `:` for folders, `,` otherwise). */
/** `rules` is a list whose order counts across flags: it is kept with the others of its kind. */
type FlagKind =
  | "text"
  | "secret"
  | "size"
  | "limit"
  | "rate"
  | "share"
  | "duration"
  | "count"
  | "number"
  | "switch"
  | "list"
  | "rules";

export interface FlagSpec {
  kind: FlagKind;
  commands: readonly CommandName[];
  /** One letter that stands for it: `-r`. */
  short?: string;
  /** Stands for the value in help. */
  value?: string;
  default?: string;
  /** Names that other tools use for the same thing, looked up after our own. */
  alsoEnv?: readonly string[];
  /** The values there are, or begin with: offered by shells. */
  words?: readonly string[];
  /** A number is a value beside the words. */
  orNumber?: true;
  /** Why 0 is no value for it. */
  notZero?: string;
  /** Of a size: the least it may be, and why. */
  least?: { bytes: number; why: string };
  /** It asks for one thing on one command line, so no variable stands for it. */
  onlyFlag?: true;
  says: string;
}
