import type { CommandName } from "./commands.ts";

/** `list` may be given several times (in the environment: separated by `:` for folders, `,` otherwise). */
/** `rules` is a list whose order counts across flags: --include and --exclude go into one list. */
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
  /** One-letter form: `r` for `-r`. */
  short?: string;
  /** Second long name, where the first one belongs to another flag of other commands. */
  alias?: string;
  /** Placeholder of the value in help. */
  value?: string;
  /** Default of `tidemark run` alone. */
  defaultOfRun?: string;
  default?: string;
  /** Names that other tools use for the same thing, looked up after our own. */
  alsoEnv?: readonly string[];
  /** Allowed values, or their beginnings before a colon; shells complete them. */
  words?: readonly string[];
  /** A whole number is allowed beside the words. */
  orNumber?: true;
  /** Reason why 0 is refused. */
  notZero?: string;
  /** Smallest size allowed, and the reason. */
  least?: { bytes: number; why: string };
  /** The flag has no environment variable, because it concerns a single command line. */
  onlyFlag?: true;
  says: string;
}
