import type { PickleValue } from "./pickle-value.ts";
import { malformed, tooMuch } from "../source.ts";

/** Stack and memo of the pickle machine, with a limit on the number of values. */
export interface PickleStack {
  /** Counts a value that the pickle creates. @throws Fault TOO_MUCH_INSIDE */
  count(): void;
  push(value: PickleValue): void;
  /** Counts the value and pushes it. @throws Fault TOO_MUCH_INSIDE */
  make(value: PickleValue): void;
  /** Removes and returns the top. @throws Fault MALFORMED when the stack is empty, as `top`, `toMark` and `remember` do */
  pop(): PickleValue;
  top(): PickleValue;
  isEmpty(): boolean;
  /** Pushes a mark: later values go above it. @throws Fault TOO_MUCH_INSIDE */
  mark(): void;
  /** Returns everything above the last mark and removes both. */
  toMark(): PickleValue[];
  /** Stores the top in the memo under `index`, or under the next number. */
  remember(index?: number): void;
  /** Pushes a memo value. @throws Fault MALFORMED for an unknown index */
  recall(index: number): void;
}

const MOST_VALUES = 1_000_000;

export function createPickleStack(): PickleStack {
  let stack: PickleValue[] = [];
  const marked: PickleValue[][] = [];
  const memo = new Map<number, PickleValue>();
  let values = 0;
  const count = (): void => {
    if (++values > MOST_VALUES) throw tooMuch(`its pickle holds more than ${MOST_VALUES} values`);
  };
  const top = (): PickleValue => {
    const value = stack.at(-1);
    if (value === undefined) throw malformed("its pickle takes more than it has put down");
    return value;
  };
  return {
    count,
    push: (value) => void stack.push(value),
    make: (value) => {
      count();
      stack.push(value);
    },
    pop: () => {
      const value = stack.pop();
      if (value === undefined) throw malformed("its pickle takes more than it has put down");
      return value;
    },
    top,
    isEmpty: () => stack.length === 0,
    mark: () => {
      count();
      marked.push(stack);
      stack = [];
    },
    toMark: () => {
      const before = marked.pop();
      if (before === undefined) throw malformed("its pickle goes back to a mark that is not there");
      const items = stack;
      stack = before;
      return items;
    },
    remember: (index = memo.size) => void memo.set(index, top()),
    recall: (index) => {
      const value = memo.get(index);
      if (value === undefined) throw malformed("its pickle speaks of something it has not said");
      stack.push(value);
    },
  };
}
