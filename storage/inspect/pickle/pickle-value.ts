/** What a pickle says, as notes: see `read-pickle.ts`. */
export type PickleValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | PickleBytes
  | PickleSequence
  | PickleDict
  | PickleGlobal
  | PickleCall
  | PicklePersistent;

interface PickleBytes {
  readonly kind: "bytes";
  readonly length: number;
}
interface PickleSequence {
  readonly kind: "list" | "tuple" | "set";
  readonly items: PickleValue[];
}
interface PickleDict {
  readonly kind: "dict";
  readonly pairs: [PickleValue, PickleValue][];
}
/** `module.name`. */
interface PickleGlobal {
  readonly kind: "global";
  readonly name: string;
}
/** What a callable would have been asked for, and what would have been put into its answer. */
export interface PickleCall {
  readonly kind: "call";
  readonly of: PickleValue;
  readonly args: PickleValue;
  readonly items: PickleValue[];
  readonly pairs: [PickleValue, PickleValue][];
  state: PickleValue;
}
interface PicklePersistent {
  readonly kind: "persistent";
  readonly id: PickleValue;
}
