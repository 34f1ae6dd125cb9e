import type { HttpAnswer } from "#storage/s3/answers.ts";
import { askForNames, PLAIN_NAMES, readerOfNames } from "#storage/answers/decode-names.ts";
import { faultOfAnswer } from "#storage/answers/faults.ts";
import type { QueryPairs } from "#storage/signing/sigv4.ts";
import { childrenOf, parseXml, textOf } from "#storage/answers/xml.ts";
import { encodingQuery } from "./list-objects.ts";
import { askStore } from "../requests/ask-store.ts";
import type { StoreSession } from "#worker/store-session/store-session.ts";

const OP = "ListMultipartUploads";

/** A multipart upload that is neither completed nor aborted. */
export interface OpenUpload {
  key: string;
  uploadId: string;
  /** Epoch ms by the store's clock. */
  beganAtMs: number;
}

/**
 * Returns the first thousand uploads below a prefix, without those whose keys are not valid UTF-8.
 * @throws Faults of the store, UNEXPECTED_ANSWER, CANCELLED
 */
export async function listUploads(
  storeSession: StoreSession,
  about: { prefix: string; signal: AbortSignal },
): Promise<OpenUpload[]> {
  const { prefix, signal } = about;
  const list = (encoding: "url" | null) => {
    const query: QueryPairs = [
      ...encodingQuery(encoding),
      ["max-uploads", "1000"],
      ["prefix", prefix],
      ["uploads", ""],
    ];
    return askStore(storeSession, { op: OP, method: "GET", at: "bucket", query, signal }, (answer) =>
      readUploads(answer, prefix),
    );
  };
  const namesOf = ({ uploads }: Listing) => uploads.map(({ key }) => key);
  const listed = await askForNames(list, { isEncoded: (page) => page.isEncoded, namesOf });
  // A store may encode spaces as plus signs. Every key begins with the prefix, which shows how this store does it.
  const isThere = (key: string) => Promise.resolve(key.startsWith(prefix));
  const { read } = listed.isEncoded ? await readerOfNames(namesOf(listed), isThere) : PLAIN_NAMES;
  return listed.uploads.flatMap(({ key: name, ...upload }) => {
    const key = read(name);
    return key?.startsWith(prefix) === true ? [{ key, ...upload }] : [];
  });
}

/** A listing whose names are as the store wrote them. */
interface Listing {
  uploads: OpenUpload[];
  isEncoded: boolean;
}

function readUploads(answer: HttpAnswer, prefix: string): Listing {
  const parsed = answer.status === 200 ? parseXml(answer.body) : null;
  if (parsed === null || parsed.root !== "ListMultipartUploadsResult") {
    throw faultOfAnswer({ op: OP, subject: prefix, answer });
  }
  const uploads = childrenOf(parsed.element, "Upload").flatMap((row) => {
    const key = textOf(row, "Key") ?? "";
    const uploadId = textOf(row, "UploadId")?.trim() ?? "";
    const beganAtMs = Date.parse(textOf(row, "Initiated")?.trim() ?? "");
    return uploadId === "" || Number.isNaN(beganAtMs) ? [] : [{ key, uploadId, beganAtMs }];
  });
  return { uploads, isEncoded: textOf(parsed.element, "EncodingType")?.trim() === "url" };
}
