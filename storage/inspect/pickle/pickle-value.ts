/** The content of a pickle as plain data; nothing is instantiated. See `read-pickle.ts`. */
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
/** An imported name: `module.name`. */
interface PickleGlobal {
  readonly kind: "global";
  readonly name: string;
}
/** A call that the pickle requests, and the items, pairs and state that it would add to the result. Never executed. */
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
