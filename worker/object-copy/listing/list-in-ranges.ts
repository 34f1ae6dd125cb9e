import type { ListedObject, ListedPage, PageRequest } from "./list-objects.ts";

/**
 * Lists a long folder in several ranges of keys at a time, because each page of a listing names the next one only when it has come.
 * Where the ranges begin is read from the first page: keys that count up are expected to go on counting, and folders are listed.
 * Only the number of requests depends on it. A store that does not sort, or does not know `start-after`, is listed page by page.
 */

/** Asks for pages of a listing, as `listPages` does. */
export type AskPages = (page: PageRequest) => AsyncGenerator<Pick<ListedPage, "objects" | "folders" | "hasMore">>;

type Page = Pick<ListedPage, "objects" | "hasMore">;

/** Keys after `after` up to `before`, itself included; null: no bound. */
interface Range {
  prefix: string;
  after: string | null;
  before: string | null;
  /** Keys that are expected in it, so that its first page returns few keys beyond it; null: unknown. */
  expected: number | null;
  /** Ranges that are listed ahead when the first page of this one does not end it. */
  ahead: number;
}

const FIRST_AHEAD = 4;
const MOST_AHEAD = 32;
/** Ranges are a little shorter than a page is by what is known, so that most take one request. */
const SHARE = 0.95;
/** Folders differ in length: a range asks for more keys than are expected in it. */
const ROOM = 1.2;
/** A range with at least this many keys is requested in whole pages. */
const MOST_SHORT = 900;
/** Numbers with fewer digits are parts of names. */
const LEAST_DIGITS = 4;
/** Folders with fewer keys are not listed for their names alone. */
const LEAST_KEYS = 4;

/** Yields every object under a prefix, in the order of the store. Faults: those of `ask`. */
export const listInRanges = (ask: AskPages, prefix: string): AsyncGenerator<ListedObject> =>
  listRange(ask, { prefix, after: null, before: null, expected: null, ahead: FIRST_AHEAD });

async function* listRange(ask: AskPages, range: Range): AsyncGenerator<ListedObject> {
  const { prefix, before } = range;
  for (let { after, expected } = range; ; expected = null) {
    const isWithin = ({ key }: ListedObject) =>
      (after === null || isAfter(key, after)) && (before === null || !isAfter(key, before));
    const page = await firstPage(ask, { prefix, after, expected });
    if (page === null) {
      for await (const { objects } of ask({ prefix })) yield* objects.filter(isWithin);
      return;
    }
    const last = page.objects.at(-1)?.key;
    const isEnd = !page.hasMore || last === undefined || (before !== null && !isAfter(before, last));
    // All of them begin before the objects of this page are read.
    const ranges = isEnd ? [] : await beginRanges(ask, page, { ...range, after: last, expected: null });
    yield* page.objects.filter(isWithin);
    for (const one of ranges) yield* one;
    if (isEnd || ranges.length > 0) return;
    after = last;
  }
}

/** Begins to list what follows a page in several ranges. Returns them in order; none where nothing tells where they could begin. */
async function beginRanges(ask: AskPages, { objects }: Page, rest: Range): Promise<AsyncIterable<ListedObject>[]> {
  const { seams, expected } = await findSeams(ask, objects, rest);
  const begun = seams.map((seam, index) => {
    const before = seams[index + 1] ?? rest.before;
    const ahead = index === seams.length - 1 ? Math.min(MOST_AHEAD, rest.ahead * 2) : FIRST_AHEAD;
    return begin(listRange(ask, { prefix: rest.prefix, after: seam, before, expected, ahead }));
  });
  const [first] = seams;
  return first === undefined ? [] : [begin(listRange(ask, { ...rest, before: first })), ...begun];
}

/** Returns the page after a key; null where the store does not sort, does not start there, or returns no key to continue from. */
async function firstPage(ask: AskPages, range: Pick<Range, "prefix" | "after" | "expected">): Promise<Page | null> {
  const { prefix, after, expected } = range;
  const most = expected === null || expected >= MOST_SHORT ? {} : { firstKeys: expected };
  try {
    for await (const page of ask({ prefix, mostPages: 1, ...most, ...(after !== null && { startAfter: after }) })) {
      const { objects, hasMore } = page;
      const isSorted = objects.every(({ key }, at) => isAfter(key, objects[at - 1]?.key ?? after ?? ""));
      const isUsable = hasMore ? isSorted && objects.length > 0 : isSorted || after === null;
      return isUsable ? page : null;
    }
    return { objects: [], hasMore: false };
  } catch (error) {
    // A store may refuse `start-after`. Any other fault is met by the plain listing too.
    if (after === null) throw error;
    return null;
  }
}

/** Starts a generator before somebody reads from it. */
function begin<T>(generator: AsyncGenerator<T>): AsyncIterable<T> {
  const first = generator.next();
  // The reader gets the fault; after an early end there is no reader.
  first.catch(() => undefined);
  return {
    [Symbol.asyncIterator]: async function* () {
      for (let next = await first; next.done !== true; next = await generator.next()) yield next.value;
    },
  };
}

/** Where ranges begin, and how many keys are expected in each. */
interface Seams {
  seams: string[];
  expected: number | null;
}

/** Returns where further ranges begin: in order, after the page and before the end of the range. None: nothing is known. */
async function findSeams(ask: AskPages, page: readonly ListedObject[], range: Range): Promise<Seams> {
  const [first, last] = [page[0]?.key ?? "", page.at(-1)?.key ?? ""];
  const counted = countOn(first, last, range.ahead);
  const { seams, expected } =
    counted === null ? await findFolders(ask, page, range) : { seams: counted, expected: null };
  return {
    seams: seams.filter((seam) => isAfter(seam, last) && (range.before === null || isAfter(range.before, seam))),
    expected,
  };
}

/** Counts on from the number in which two keys differ first; null where they differ in something else. */
function countOn(first: string, last: string, ahead: number): string[] | null {
  let start = 0;
  while (start < first.length && first[start] === last[start]) start++;
  while (start > 0 && /\d/.test(first[start - 1] ?? "")) start--;
  const [from, to] = [first, last].map((key) => /^\d{1,15}/.exec(key.slice(start))?.[0] ?? "");
  // Beyond ASCII the order of the store and of strings here may differ.
  const isPlain = /^[ -~]*$/.test(first.slice(0, start));
  if (!isPlain || from === undefined || to === undefined) return null;
  if (from.length < LEAST_DIGITS || from.length !== to.length) return null;
  const step = Math.max(1, Math.floor((Number(to) - Number(from)) * SHARE));
  const numbers = Array.from({ length: ahead }, (_, index) => String(Number(to) + (index + 1) * step));
  return numbers
    .filter((text) => text.length <= to.length)
    .map((text) => first.slice(0, start) + text.padStart(to.length, "0"));
}

/** Lists the folders right below, where a page holds several of them and each has several keys. */
async function findFolders(ask: AskPages, page: readonly ListedObject[], { prefix }: Range): Promise<Seams> {
  const folderOf = (key: string) => key.slice(0, key.indexOf("/", prefix.length) + 1);
  const seen = new Set(page.map(({ key }) => folderOf(key)));
  if (seen.size < 2 || seen.has("") || page.length / seen.size < LEAST_KEYS) return NO_SEAMS;
  const last = page.at(-1)?.key ?? "";
  const later: string[] = [];
  for await (const { folders } of ask({ prefix, delimiter: "/", startAfter: last }))
    later.push(...folders.filter((folder) => isAfter(folder, last)));
  const every = Math.max(1, Math.floor(seen.size * SHARE), Math.ceil(later.length / MOST_AHEAD));
  const seams = later.toSorted((a, b) => (isAfter(a, b) ? 1 : -1)).filter((_, index) => index % every === 0);
  return { seams, expected: Math.ceil((page.length / seen.size) * every * ROOM) };
}

/** Tells whether a key follows another in the order of stores, UTF-8. Strings compare alike unless they contain surrogates. */
const isAfter = (key: string, other: string): boolean =>
  SURROGATE.test(key) || SURROGATE.test(other) ? Buffer.compare(Buffer.from(key), Buffer.from(other)) > 0 : key > other;
const SURROGATE = /[\ud800-\udfff]/;

const NO_SEAMS: Seams = { seams: [], expected: null };
