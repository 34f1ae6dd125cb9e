import type { PickleBytesReader } from "./pickle-bytes.ts";
import type { PickleStack } from "./pickle-stack.ts";
import type { PickleValue } from "./pickle-value.ts";
import { malformed } from "../source.ts";

/** Effects of pickle opcodes, by groups. Source: the opcodes of Python's pickletools. */
export interface PickleMachine {
  read: PickleBytesReader;
  stack: PickleStack;
}
type Opcodes = Readonly<Record<string, (machine: PickleMachine) => void>>;

const MOST_LONG_BYTES = 16;

const isObject = (value: PickleValue): value is Exclude<PickleValue, string | number | bigint | boolean | null> =>
  typeof value === "object" && value !== null;

const plain = (value: bigint): number | bigint => {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
};

function decimal(digits: string): number | bigint {
  if (!/^-?\d{1,40}L?$/.test(digits)) throw malformed("its pickle holds a number that is none");
  return plain(BigInt(digits.replace("L", "")));
}

/** Skips bytes and records their length only. */
function skip({ read, stack }: PickleMachine, length: number): void {
  read.take(length);
  stack.make({ kind: "bytes", length });
}

/** Reads an integer. One of more than 16 bytes is recorded as bytes, since no valid size is that large. */
function long(machine: PickleMachine, length: number): void {
  if (length > MOST_LONG_BYTES) skip(machine, length);
  else machine.stack.push(plain(machine.read.signed(length)));
}

const CONTROL: Opcodes = {
  // PROTO
  "\x80": ({ read }) => {
    if (read.u8() > 5) throw malformed("its pickle is of a protocol that is not known");
  },
  // FRAME
  "\x95": ({ read }) => void read.take(8),
  "(": ({ stack }) => stack.mark(),
  "0": ({ stack }) => void (stack.isEmpty() ? stack.toMark() : stack.pop()),
  "1": ({ stack }) => void stack.toMark(),
  "2": ({ stack }) => stack.push(stack.top()),
};

const SCALARS: Opcodes = {
  N: ({ stack }) => stack.push(null),
  "\x88": ({ stack }) => stack.push(true),
  "\x89": ({ stack }) => stack.push(false),
  I: ({ read, stack }) => {
    const digits = read.line();
    stack.push(digits === "00" ? false : digits === "01" ? true : decimal(digits));
  },
  L: ({ read, stack }) => stack.push(decimal(read.line())),
  J: ({ read, stack }) => stack.push(read.i32()),
  K: ({ read, stack }) => stack.push(read.u8()),
  M: ({ read, stack }) => stack.push(read.u16()),
  "\x8a": (machine) => long(machine, machine.read.u8()),
  "\x8b": (machine) => long(machine, machine.read.u32()),
  F: ({ read, stack }) => stack.push(Number(read.line())),
  G: ({ read, stack }) => stack.push(read.float()),
};

const TEXTS: Opcodes = {
  S: ({ read, stack }) => stack.push(read.line()),
  V: ({ read, stack }) => stack.push(read.line()),
  T: ({ read, stack }) => stack.push(read.text(read.u32())),
  X: ({ read, stack }) => stack.push(read.text(read.u32())),
  U: ({ read, stack }) => stack.push(read.text(read.u8())),
  "\x8c": ({ read, stack }) => stack.push(read.text(read.u8())),
  "\x8d": ({ read, stack }) => stack.push(read.text(read.u64())),
  B: (machine) => skip(machine, machine.read.u32()),
  C: (machine) => skip(machine, machine.read.u8()),
  "\x8e": (machine) => skip(machine, machine.read.u64()),
  "\x96": (machine) => skip(machine, machine.read.u64()),
};

function tuple({ stack }: PickleMachine, length: number): void {
  const items: PickleValue[] = [];
  for (let item = 0; item < length; item++) items.unshift(stack.pop());
  stack.make({ kind: "tuple", items });
}

function pairsOf(stack: PickleStack, items: readonly PickleValue[]): [PickleValue, PickleValue][] {
  if (items.length % 2 !== 0) throw malformed("its pickle holds a key without a value");
  const pairs: [PickleValue, PickleValue][] = [];
  for (let index = 0; index + 1 < items.length; index += 2) {
    stack.count();
    pairs.push([items[index] ?? null, items[index + 1] ?? null]);
  }
  return pairs;
}

function putIntoDict({ stack }: PickleMachine, items: readonly PickleValue[]): void {
  const target = stack.top();
  if (!isObject(target) || (target.kind !== "dict" && target.kind !== "call")) {
    throw malformed("its pickle puts a pair where there is no dictionary");
  }
  for (const pair of pairsOf(stack, items)) target.pairs.push(pair);
}

function putIntoList({ stack }: PickleMachine, items: readonly PickleValue[]): void {
  const target = stack.top();
  if (!isObject(target) || !("items" in target)) throw malformed("its pickle puts an item where there is no list");
  for (const item of items) target.items.push(item);
}

const CONTAINERS: Opcodes = {
  "]": ({ stack }) => stack.make({ kind: "list", items: [] }),
  "}": ({ stack }) => stack.make({ kind: "dict", pairs: [] }),
  "\x8f": ({ stack }) => stack.make({ kind: "set", items: [] }),
  ")": (machine) => tuple(machine, 0),
  "\x85": (machine) => tuple(machine, 1),
  "\x86": (machine) => tuple(machine, 2),
  "\x87": (machine) => tuple(machine, 3),
  t: ({ stack }) => stack.make({ kind: "tuple", items: stack.toMark() }),
  l: ({ stack }) => stack.make({ kind: "list", items: stack.toMark() }),
  "\x91": ({ stack }) => stack.make({ kind: "set", items: stack.toMark() }),
  d: ({ stack }) => stack.make({ kind: "dict", pairs: pairsOf(stack, stack.toMark()) }),
  a: (machine) => putIntoList(machine, [machine.stack.pop()]),
  e: (machine) => putIntoList(machine, machine.stack.toMark()),
  "\x90": (machine) => putIntoList(machine, machine.stack.toMark()),
  s: (machine) => {
    const value = machine.stack.pop();
    putIntoDict(machine, [machine.stack.pop(), value]);
  },
  u: (machine) => putIntoDict(machine, machine.stack.toMark()),
};

function pushGlobal({ stack }: PickleMachine, module: PickleValue, name: PickleValue): void {
  if (typeof module !== "string" || typeof name !== "string") throw malformed("its pickle imports what has no name");
  stack.make({ kind: "global", name: `${module}.${name}` });
}

function pushCall({ stack }: PickleMachine, of: PickleValue, args: PickleValue): void {
  stack.make({ kind: "call", of, args, items: [], pairs: [], state: null });
}

function made(stack: PickleStack, value: PickleValue): PickleValue {
  stack.count();
  return value;
}

const OBJECTS: Opcodes = {
  c: (machine) => {
    const module = machine.read.line();
    pushGlobal(machine, module, machine.read.line());
  },
  "\x93": (machine) => {
    const name = machine.stack.pop();
    pushGlobal(machine, machine.stack.pop(), name);
  },
  R: callWithTuple,
  "\x81": callWithTuple,
  "\x92": (machine) => {
    const { stack } = machine;
    const [named, args] = [stack.pop(), stack.pop()];
    pushCall(machine, stack.pop(), made(stack, { kind: "tuple", items: [args, named] }));
  },
  o: (machine) => {
    const [of = null, ...items] = machine.stack.toMark();
    pushCall(machine, of, made(machine.stack, { kind: "tuple", items }));
  },
  i: (machine) => {
    const { read, stack } = machine;
    const of = made(stack, { kind: "global", name: `${read.line()}.${read.line()}` });
    pushCall(machine, of, made(stack, { kind: "tuple", items: stack.toMark() }));
  },
  b: ({ stack }) => {
    const state = stack.pop();
    const target = stack.top();
    if (isObject(target) && target.kind === "call") target.state = state;
    // The effect on any other object is known to its class only, so the state is dropped.
    else if (!isObject(target)) throw malformed("its pickle builds on something that is no object");
  },
  P: ({ read, stack }) => stack.make({ kind: "persistent", id: read.line() }),
  Q: ({ stack }) => stack.make({ kind: "persistent", id: stack.pop() }),
};

function callWithTuple(machine: PickleMachine): void {
  const args = machine.stack.pop();
  pushCall(machine, machine.stack.pop(), args);
}

const MEMO: Opcodes = {
  p: ({ read, stack }) => stack.remember(Number(decimal(read.line()))),
  q: ({ read, stack }) => stack.remember(read.u8()),
  r: ({ read, stack }) => stack.remember(read.u32()),
  "\x94": ({ stack }) => stack.remember(),
  g: ({ read, stack }) => stack.recall(Number(decimal(read.line()))),
  h: ({ read, stack }) => stack.recall(read.u8()),
  j: ({ read, stack }) => stack.recall(read.u32()),
};

const ALL: Opcodes = { ...CONTROL, ...SCALARS, ...TEXTS, ...CONTAINERS, ...OBJECTS, ...MEMO };

/** Handlers by opcode. STOP (`.`) is missing: it ends the loop in `read-pickle.ts`. */
export const OPCODES: readonly ((machine: PickleMachine) => void)[] = Array.from(
  { length: 256 },
  (_, opcode) =>
    ALL[String.fromCharCode(opcode)] ??
    (() => {
      throw malformed(`its pickle holds ${opcode}, which is no opcode that is read`);
    }),
);
