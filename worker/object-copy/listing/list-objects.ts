import { Fault } from "#protocol/faults/fault.ts";
import { quoteEtag } from "#storage/answers/check-range.ts";
import { askForNames, PLAIN_NAMES, readerOfNames } from "#storage/answers/decode-names.ts";
import { faultOfAnswer, type HttpAnswer } from "#storage/answers/faults.ts";
import { createRepeatFinder } from "#storage/answers/repeated-names.ts";
import { mayBeArchived } from "#storage/answers/storage-class.ts";
import { locateBucket, type StoreAccess } from "#storage/signing/signing.ts";
import { presign, type Credential, type CredentialSource, type QueryPairs } from "#storage/signing/sigv4.ts";
import { childrenOf, integerOf, parseXml, textOf, type XmlElement } from "#storage/answers/xml.ts";
import { ask, warmUp, type Engine } from "#worker/transfer/engine.ts";
import { createPatience, withRetry } from "#worker/transfer/store-session/retry.ts";

/**
 * Lists objects page by page with presigned ListObjectsV2 requests. The SDK is not used, because it takes longer to load
 * than most listings take. An answer that is not a complete page is a Fault, never a shorter list. The order is the store's
 * own; not every store sorts.
 */

export interface ListedObject {
  key: string;
  sizeBytes: number;
  /** With its quotes; null where the store gives none. */
  etag: string | null;
  /** Epoch ms by the store's clock; null where it gives none. */
  modifiedAtMs: number | null;
  /** Whether its class permits that it is archived, which a HEAD tells. Left out: no. */
  mayBeArchived?: true;
}

export interface ListedPage {
  objects: ListedObject[];
  /** Common prefixes up to the delimiter. */
  folders: string[];
  /** Names that are not valid UTF-8, as the store wrote them; no request can name these objects. */
  unreadable: string[];
  /** Names that this or an earlier page has already; they are in none of the lists above. */
  repeated: string[];
  /** The listing goes on after this page. */
  hasMore: boolean;
}

/** Which objects are listed. */
export interface PageRequest {
  prefix: string;
  delimiter?: "/";
  /** Only keys after this one, on stores that sort and know `start-after`. */
  startAfter?: string;
  /** Keys on the first page; each further page has twice as many, following TCP slow start of a new connection. */
  firstKeys?: number;
  /** Number of pages after which the listing ends, even if there is more. */
  mostPages?: number;
}

interface From {
  engine: Engine;
  readonly access: StoreAccess;
  readonly keys: CredentialSource;
  /** Returns the time that dates signatures, epoch ms. */
  now(): number;
}

const OP = "ListObjectsV2";

/**
 * Yields the pages of a listing, each name once.
 * @throws Faults of the store, INTERCEPTED, UNEXPECTED_ANSWER, CANCELLED
 */
export async function* listPages(from: From, about: PageRequest & { signal: AbortSignal }): AsyncGenerator<ListedPage> {
  const { engine } = from;
  const { signal, prefix, delimiter, startAfter, mostPages = Infinity } = about;
  const subject = `${from.access.bucket}/${prefix}`;
  const patience = createPatience(engine.retrier.clock);
  const seen = new Set<string>();
  let keys = about.firstKeys ?? MOST_KEYS;
  const askAs = (encoding: "url" | null, below: string, rest: QueryPairs) =>
    withRetry(engine.retrier, { signal, patience }, async () => {
      const { signedFor } = engine.store;
      const query: QueryPairs = [["list-type", "2"], ...encodingQuery(encoding), ["prefix", below], ...rest];
      const request = {
        method: "GET",
        url: urlOf(from, query, from.keys.now() ?? (await from.keys.fresh())),
        headers: {},
        expiresAt: from.now() + LIFETIME_MS,
      } as const;
      return readPage(await ask(engine, { signedFor, request, op: OP, subject, signal }), subject);
    });
  /** Asks for a page whose names are still as the store wrote them. */
  const askRaw = (below: string, rest: QueryPairs) =>
    askForNames((encoding) => askAs(encoding, below, rest), { isEncoded: (page) => page.isEncoded, namesOf: namesIn });
  const askFor = (token: string | null) => {
    const rest: QueryPairs = [
      ...(keys < MOST_KEYS ? [["max-keys", String(keys)] as const] : []),
      ...(delimiter === undefined ? [] : [["delimiter", delimiter] as const]),
      ...(startAfter === undefined || token !== null ? [] : [["start-after", startAfter] as const]),
      ...(token === null ? [] : [["continuation-token", token] as const]),
    ];
    keys *= 2;
    return askRaw(prefix, rest);
  };
  const isThere = async (key: string) => (await askRaw(key, [["max-keys", "1"]])).objects.length > 0;
  const once = namesOnce();
  for (let asked: ReturnType<typeof askFor> | null = askFor(null); asked !== null;) {
    const page: Awaited<ReturnType<typeof askFor>> = await asked;
    const { next } = page;
    patience.progressed();
    if (next !== null && seen.has(next)) throw unexpected(subject, "a page that leads in a circle");
    if (next !== null) seen.add(next);
    // Requests the next page before this one is processed, which hides a round trip.
    asked = next === null || seen.size >= mostPages ? null : askFor(next);
    asked?.catch(() => undefined);
    yield { ...once(await decodePage(page, { subject, prefix, isThere })), hasMore: next !== null };
  }
}

/** Makes a function that moves the names that earlier pages, or the page itself, have already to `repeated`. */
function namesOnce(): (page: DecodedPage) => DecodedPage & Pick<ListedPage, "repeated"> {
  const finder = createRepeatFinder();
  return ({ objects, folders, unreadable }) => {
    const repeated: string[] = [];
    const isNew = (kind: string, name: string): boolean => {
      const again = finder.isRepeated(kind + name);
      if (again) repeated.push(name);
      return !again;
    };
    return {
      objects: objects.filter(({ key }) => isNew("object ", key)),
      folders: folders.filter((name) => isNew("folder ", name)),
      unreadable: unreadable.filter((name) => isNew("unreadable ", name)),
      repeated,
    };
  };
}

/** Returns all objects under a prefix as one array, for listings that fit into memory. @throws Faults of `listPages` */
export async function listObjects(from: From, about: { prefix: string; signal: AbortSignal }): Promise<ListedObject[]> {
  const found: ListedObject[] = [];
  for await (const { objects } of listPages(from, about)) found.push(...objects);
  return found;
}

/**
 * Lists for a caller that can begin before the listing is complete: `onPage` gets all objects page by page, `onPeek` some of
 * the first ones earlier. On a link with a long RTT a full page takes several round trips, while short pages that are
 * requested in parallel take one. @throws Faults of `listPages`
 */
export async function listEarly(
  from: From,
  about: {
    prefix: string;
    signal: AbortSignal;
    onPeek: (objects: ListedObject[]) => void;
    onPage: (page: ListedPage) => void;
  },
): Promise<void> {
  const failed = new AbortController();
  let isEnough = false;
  const peek = async (pages: { firstKeys: number; mostPages?: number }) => {
    const signal = AbortSignal.any([about.signal, failed.signal]);
    for await (const { objects } of listPages(from, { prefix: about.prefix, signal, ...pages })) {
      // A page in flight is not aborted: that would close a connection that is needed in a moment.
      if (isEnough) return;
      about.onPeek(objects);
    }
  };
  const pages = listPages(from, about);
  const first = pages.next();
  // Errors are ignored here, because the listing itself reports them.
  void peek({ firstKeys: PEEKED_KEYS }).catch(() => undefined);
  void peek({ firstKeys: MORE_PEEKED_KEYS, mostPages: 1 }).catch(() => undefined);
  // Opens connections for the objects, which are fetched as soon as their names arrive.
  const next = { count: MORE_PEEKED_KEYS, size: "small" } as const;
  void warmUp(from.engine, { op: "head", key: about.prefix }, next).catch(() => undefined);
  try {
    for (let page = await first; page.done !== true; page = await pages.next()) {
      isEnough = true;
      about.onPage(page.value);
    }
  } catch (error) {
    failed.abort();
    throw error;
  }
}

/** Number of keys whose page fits into the initial congestion window, so that it takes one round trip. */
const PEEKED_KEYS = 30;
/** Number of keys that fits when names are short; with longer names the request brings nothing. */
const MORE_PEEKED_KEYS = 56;
/** Page size of S3 without `max-keys`. */
const MOST_KEYS = 1000;

const LIFETIME_MS = 600_000;

const unexpected = (subject: string, detail: string): Fault =>
  new Fault("UNEXPECTED_ANSWER", { op: OP, subject, detail });

function urlOf(from: From, query: QueryPairs, credential: Credential): string {
  const { access } = from;
  return presign(
    { method: "GET", ...locateBucket(access), query, headers: {} },
    { credential, region: access.region, nowMs: from.now(), lifetimeMs: LIFETIME_MS },
  );
}

/** A page whose names are as the store wrote them. */
interface RawPage {
  objects: ListedObject[];
  folders: string[];
  /** Names are percent-encoded, according to the answer's EncodingType. */
  isEncoded: boolean;
  next: string | null;
}

function readPage(answer: HttpAnswer, subject: string): RawPage {
  const parsed = answer.status === 200 ? parseXml(answer.body) : null;
  if (parsed === null || parsed.root !== "ListBucketResult") throw faultOfAnswer({ op: OP, subject, answer });
  const { element } = parsed;
  const objects = childrenOf(element, "Contents").map((row) => readObject(row, subject));
  const folders = childrenOf(element, "CommonPrefixes").map((row) => textOf(row, "Prefix") ?? "");
  const truncated = textOf(element, "IsTruncated")?.trim().toLowerCase();
  if (truncated !== "true" && truncated !== "false") throw unexpected(subject, "no word on whether more follows");
  const next = own(textOf(element, "NextContinuationToken")?.trim() ?? "");
  if (truncated === "true" && next === "") throw unexpected(subject, "a page that leads nowhere");
  const isEncoded = textOf(element, "EncodingType")?.trim() === "url";
  return { objects, folders, isEncoded, next: truncated === "true" ? next : null };
}

/** Returns the query parameter that asks for percent-encoded names, if requested. */
export const encodingQuery = (encoding: "url" | null): QueryPairs =>
  encoding === null ? [] : [["encoding-type", encoding]];

const namesIn = ({ objects, folders }: RawPage): string[] => [...objects.map(({ key }) => key), ...folders];

type DecodedPage = Pick<ListedPage, "objects" | "folders" | "unreadable">;

/** Decodes the names of a page; names that cannot be decoded go to `unreadable`. */
async function decodePage(
  page: RawPage,
  about: { subject: string; prefix: string; isThere: (key: string) => Promise<boolean> },
): Promise<DecodedPage> {
  const { subject, prefix, isThere } = about;
  const { read } = page.isEncoded ? await readerOfNames(namesIn(page), isThere) : PLAIN_NAMES;
  const unreadable: string[] = [];
  const readOne = (name: string): string | null => {
    const key = read(name);
    if (key === null) unreadable.push(own(name));
    else if (!key.startsWith(prefix)) throw unexpected(subject, "a key that lies under another prefix");
    return key;
  };
  const objects = page.objects.filter((object) => {
    const key = readOne(object.key);
    if (key !== null) object.key = own(key);
    return key !== null;
  });
  const folders = page.folders.map(readOne).filter((name) => name !== null);
  return { objects, folders, unreadable };
}

function readObject(row: XmlElement, subject: string): ListedObject {
  const key = textOf(row, "Key");
  const sizeBytes = integerOf(row, "Size");
  if (key === undefined || sizeBytes === undefined) throw unexpected(subject, "an object without key or size");
  const etag = textOf(row, "ETag")?.trim() ?? "";
  const modifiedAtMs = Date.parse(textOf(row, "LastModified")?.trim() ?? "");
  const storageClass = textOf(row, "StorageClass")?.trim() ?? null;
  return {
    key,
    sizeBytes,
    etag: etag === "" ? null : own(quoteEtag(etag)),
    modifiedAtMs: Number.isNaN(modifiedAtMs) ? null : modifiedAtMs,
    ...(mayBeArchived({ storageClass, sizeBytes }) && { mayBeArchived: true }),
  };
}

/** Copies a string: a V8 substring keeps its whole parent, here a page of the listing, in memory. */
const own = (text: string): string => Buffer.from(text).toString();
