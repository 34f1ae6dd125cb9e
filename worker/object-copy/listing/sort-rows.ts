import type { ScratchFile } from "./scratch-file.ts";
import { Spool, type RowForm } from "./spool.ts";

/** Number of rows sorted in memory at a time. */
const RUN_ROWS = 8_192;

/**
 * Returns the rows sorted by name, which they nearly always are already. Otherwise it is an external merge sort.
 */
export function sortRows<T>(spool: Spool<T>, about: { form: RowForm<T>; scratch: ScratchFile }): Spool<T> {
  if (spool.isSorted) return spool;
  const { form, scratch } = about;
  const runs: Spool<T>[] = [];
  let run: T[] = [];
  const end = () => {
    const sorted = new Spool(form, scratch);
    for (const row of run.sort((a, b) => order(form.nameOf(a), form.nameOf(b)))) sorted.add(row);
    runs.push(sorted);
    run = [];
  };
  for (const row of spool) {
    run.push(row);
    if (run.length === RUN_ROWS) end();
  }
  if (run.length > 0) end();
  const sorted = new Spool(form, scratch);
  for (const row of mergeAll(runs, form)) sorted.add(row);
  return sorted;
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function mergeAll<T>(runs: readonly Iterable<T>[], form: RowForm<T>): Iterable<T> {
  const [only = []] = runs;
  if (runs.length <= 1) return only;
  const half = Math.ceil(runs.length / 2);
  return merge(mergeAll(runs.slice(0, half), form), mergeAll(runs.slice(half), form), form);
}

function* merge<T>(left: Iterable<T>, right: Iterable<T>, form: RowForm<T>): Generator<T> {
  const [a, b] = [left[Symbol.iterator](), right[Symbol.iterator]()];
  let [one, other] = [a.next(), b.next()];
  for (;;) {
    if (one.done === true && other.done === true) return;
    const isLeft = other.done === true || (one.done !== true && form.nameOf(one.value) <= form.nameOf(other.value));
    if (isLeft && one.done !== true) {
      yield one.value;
      one = a.next();
    } else if (other.done !== true) {
      yield other.value;
      other = b.next();
    }
  }
}
