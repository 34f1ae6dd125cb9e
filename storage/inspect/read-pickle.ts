import { malformed, tooMuch } from "./source.ts";

/**
 * A pickle is a program for a small machine. This one only takes notes: it builds lists, dictionaries, numbers and texts,
 * and writes down which callable *would have been* called with what. Nothing is imported, called or looked up, so there is
 * nothing that a hostile file could make happen; what the notes mean is decided by those who read them
 * (`torch-values.ts`), by a list of names. Source: the opcodes of Python's pickletools.
 */
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
export interface PickleSequence {
  readonly kind: "list" | "tuple" | "set";
  readonly items: PickleValue[];
}
export interface PickleDict {
  readonly kind: "dict";
  readonly pairs: [PickleValue, PickleValue][];
}
/** `module.name`. */
export interface PickleGlobal {
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
export interface PicklePersistent {
  readonly kind: "persistent";
  readonly id: PickleValue;
}

const MOST_OPCODES = 4_000_000;
const MOST_VALUES = 1_000_000;
const MOST_LINE_BYTES = 1_024;
const MOST_LONG_BYTES = 16;

const isObject = (value: PickleValue): value is Exclude<PickleValue, string | number | bigint | boolean | null> =>
  typeof value === "object" && value !== null;

/** Ends the reading: there are no more bytes, but nothing was wrong until here. */
const RAN_OUT = new Error("the bytes ran out");

/**
 * One pickle that begins at `start`; null when it does not end within `bytes`.
 * Faults: MALFORMED, TOO_MUCH_INSIDE.
 */
export function readPickle(bytes: Uint8Array, start = 0): { value: PickleValue; end: number } | null {
  try {
    return createMachine(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), start).run();
  } catch (error) {
    if (error === RAN_OUT) return null;
    throw error;
  }
}

function createMachine(bytes: Buffer, start: number) {
  let at = start;
  let stack: PickleValue[] = [];
  const marked: PickleValue[][] = [];
  const memo = new Map<number, PickleValue>();
  let values = 0;

  const take = (length: number): number => {
    if (length > bytes.length - at) throw RAN_OUT;
    at += length;
    return at - length;
  };
  const u8 = () => bytes.readUInt8(take(1));
  const u16 = () => bytes.readUInt16LE(take(2));
  const i32 = () => bytes.readInt32LE(take(4));
  const u32 = () => bytes.readUInt32LE(take(4));
  const u64 = (): number => {
    const length = bytes.readBigUInt64LE(take(8));
    if (length > BigInt(Number.MAX_SAFE_INTEGER)) throw malformed("its pickle holds a length that cannot be");
    return Number(length);
  };
  const line = (): string => {
    const end = bytes.indexOf(10, at);
    if (end < 0 && bytes.length - at <= MOST_LINE_BYTES) throw RAN_OUT;
    if (end < 0 || end - at > MOST_LINE_BYTES) throw malformed("its pickle holds a line without end");
    const from = take(end - at + 1);
    return bytes.toString("utf8", from, end);
  };
  const text = (length: number): string => {
    const from = take(length);
    return bytes.toString("utf8", from, from + length);
  };
  const skipped = (length: number): PickleBytes => {
    take(length);
    return made({ kind: "bytes", length });
  };
  /** A signed little-endian number of any length; what is longer than any count is not a number to us. */
  const long = (length: number): PickleValue => {
    if (length > MOST_LONG_BYTES) return skipped(length);
    const from = take(length);
    let value = 0n;
    for (let index = length - 1; index >= 0; index--) value = (value << 8n) | BigInt(bytes.readUInt8(from + index));
    return plain(length === 0 ? 0n : BigInt.asIntN(length * 8, value));
  };
  const plain = (value: bigint): number | bigint => {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : value;
  };
  const decimal = (digits: string): PickleValue => {
    if (!/^-?\d{1,40}L?$/.test(digits)) throw malformed("its pickle holds a number that is none");
    return plain(BigInt(digits.replace("L", "")));
  };

  const count = () => {
    if (++values > MOST_VALUES) throw tooMuch(`its pickle holds more than ${MOST_VALUES} values`);
  };
  const made = <T extends PickleValue>(value: T): T => {
    count();
    return value;
  };
  const push = (value: PickleValue) => void stack.push(value);
  const pop = (): PickleValue => {
    const value = stack.pop();
    if (value === undefined) throw malformed("its pickle takes more than it has put down");
    return value;
  };
  const top = (): PickleValue => {
    const value = stack.at(-1);
    if (value === undefined) throw malformed("its pickle takes more than it has put down");
    return value;
  };
  const mark = () => {
    count();
    marked.push(stack);
    stack = [];
  };
  const toMark = (): PickleValue[] => {
    const before = marked.pop();
    if (before === undefined) throw malformed("its pickle goes back to a mark that is not there");
    const items = stack;
    stack = before;
    return items;
  };
  const recall = (index: number) => {
    const value = memo.get(index);
    if (value === undefined) throw malformed("its pickle speaks of something it has not said");
    push(value);
  };
  const tuple = (count: number) => {
    const items: PickleValue[] = [];
    for (let item = 0; item < count; item++) items.unshift(pop());
    push(made({ kind: "tuple", items }));
  };
  const call = (of: PickleValue, args: PickleValue) =>
    push(made({ kind: "call", of, args, items: [], pairs: [], state: null }));
  const pairsOf = (items: PickleValue[]): [PickleValue, PickleValue][] => {
    if (items.length % 2 !== 0) throw malformed("its pickle holds a key without a value");
    const pairs: [PickleValue, PickleValue][] = [];
    for (let index = 0; index + 1 < items.length; index += 2) {
      count();
      pairs.push([items[index] ?? null, items[index + 1] ?? null]);
    }
    return pairs;
  };
  const intoDict = (items: PickleValue[]) => {
    const target = top();
    if (!isObject(target) || (target.kind !== "dict" && target.kind !== "call")) {
      throw malformed("its pickle puts a pair where there is no dictionary");
    }
    for (const pair of pairsOf(items)) target.pairs.push(pair);
  };
  const intoList = (items: PickleValue[]) => {
    const target = top();
    if (!isObject(target) || !("items" in target)) throw malformed("its pickle puts an item where there is no list");
    for (const item of items) target.items.push(item);
  };
  const build = () => {
    const state = pop();
    const target = top();
    if (isObject(target) && target.kind === "call") target.state = state;
    // What would have become of anything else only its class knows.
    else if (!isObject(target)) throw malformed("its pickle builds on something that is no object");
  };
  const global = (module: PickleValue, name: PickleValue) => {
    if (typeof module !== "string" || typeof name !== "string") throw malformed("its pickle imports what has no name");
    push(made({ kind: "global", name: `${module}.${name}` }));
  };

  /** One opcode. True when it was the last. */
  function step(opcode: string): boolean {
    switch (opcode) {
      case "\x80": // PROTO
        if (u8() > 5) throw malformed("its pickle is of a protocol that is not known");
        return false;
      case "\x95": // FRAME
        take(8);
        return false;
      case ".":
        return true;
      case "(":
        mark();
        return false;
      case "0":
        if (stack.length === 0) toMark();
        else pop();
        return false;
      case "1":
        toMark();
        return false;
      case "2":
        push(top());
        return false;
      case "N":
        push(null);
        return false;
      case "\x88":
        push(true);
        return false;
      case "\x89":
        push(false);
        return false;
      case "I": {
        const digits = line();
        push(digits === "00" ? false : digits === "01" ? true : decimal(digits));
        return false;
      }
      case "L":
        push(decimal(line()));
        return false;
      case "J":
        push(i32());
        return false;
      case "K":
        push(u8());
        return false;
      case "M":
        push(u16());
        return false;
      case "\x8a":
        push(long(u8()));
        return false;
      case "\x8b":
        push(long(u32()));
        return false;
      case "F":
        push(Number(line()));
        return false;
      case "G":
        push(bytes.readDoubleBE(take(8)));
        return false;
      case "S":
      case "V":
        push(line());
        return false;
      case "T":
      case "X":
        push(text(u32()));
        return false;
      case "U":
      case "\x8c":
        push(text(u8()));
        return false;
      case "\x8d":
        push(text(u64()));
        return false;
      case "B":
        push(skipped(u32()));
        return false;
      case "C":
        push(skipped(u8()));
        return false;
      case "\x8e":
      case "\x96":
        push(skipped(u64()));
        return false;
      default:
        stepObject(opcode);
        return false;
    }
  }

  function stepObject(opcode: string): void {
    switch (opcode) {
      case "]":
        return push(made({ kind: "list", items: [] }));
      case "}":
        return push(made({ kind: "dict", pairs: [] }));
      case "\x8f":
        return push(made({ kind: "set", items: [] }));
      case ")":
        return tuple(0);
      case "\x85":
        return tuple(1);
      case "\x86":
        return tuple(2);
      case "\x87":
        return tuple(3);
      case "t":
        return push(made({ kind: "tuple", items: toMark() }));
      case "l":
        return push(made({ kind: "list", items: toMark() }));
      case "\x91":
        return push(made({ kind: "set", items: toMark() }));
      case "d":
        return push(made({ kind: "dict", pairs: pairsOf(toMark()) }));
      case "a":
        return intoList([pop()]);
      case "e":
      case "\x90":
        return intoList(toMark());
      case "s": {
        const value = pop();
        return intoDict([pop(), value]);
      }
      case "u":
        return intoDict(toMark());
      case "c": {
        const module = line();
        return global(module, line());
      }
      case "\x93": {
        const name = pop();
        return global(pop(), name);
      }
      case "R":
      case "\x81": {
        const args = pop();
        return call(pop(), args);
      }
      case "\x92": {
        const [named, args] = [pop(), pop()];
        return call(pop(), made({ kind: "tuple", items: [args, named] }));
      }
      case "o": {
        const [of = null, ...items] = toMark();
        return call(of, made({ kind: "tuple", items }));
      }
      case "i": {
        const name = `${line()}.${line()}`;
        return call(made({ kind: "global", name }), made({ kind: "tuple", items: toMark() }));
      }
      case "b":
        return build();
      case "P":
        return push(made({ kind: "persistent", id: line() }));
      case "Q":
        return push(made({ kind: "persistent", id: pop() }));
      default:
        return stepMemo(opcode);
    }
  }

  function stepMemo(opcode: string): void {
    switch (opcode) {
      case "p":
        return void memo.set(Number(decimal(line())), top());
      case "q":
        return void memo.set(u8(), top());
      case "r":
        return void memo.set(u32(), top());
      case "\x94":
        return void memo.set(memo.size, top());
      case "g":
        return recall(Number(decimal(line())));
      case "h":
        return recall(u8());
      case "j":
        return recall(u32());
      default:
        throw malformed(`its pickle holds ${opcode.charCodeAt(0)}, which is no opcode that is read`);
    }
  }

  return {
    run: (): { value: PickleValue; end: number } => {
      for (let opcodes = 0; opcodes < MOST_OPCODES; opcodes++) {
        if (step(String.fromCharCode(u8()))) return { value: pop(), end: at };
      }
      throw tooMuch(`its pickle has more than ${MOST_OPCODES} steps`);
    },
  };
}
