import type { PassedAnswer } from "./odd-objects.ts";

/** Storage of an object as its store reports it. The headers are those of AWS. */
export interface StoredAs {
  storageClass: string;
  archiveStatus?: string;
  restore?: string;
}

export const GLACIER: StoredAs = { storageClass: "GLACIER" };

const isReadable = ({ storageClass, archiveStatus, restore }: StoredAs): boolean =>
  (storageClass !== "GLACIER" && storageClass !== "DEEP_ARCHIVE" && archiveStatus === undefined) ||
  restore?.includes('ongoing-request="false"') === true;

const keyOf = (url: string): string =>
  decodeURIComponent(new URL(url, "http://store").pathname.split("/").slice(2).join("/"));

const REFUSED =
  '<?xml version="1.0"?><Error><Code>InvalidObjectState</Code><Message>The operation is not valid for the object\'s storage class</Message></Error>';

/** Changes answers as if a lifecycle rule had moved objects. `of`: how an object is stored; null for an ordinary one. */
export const archiveObjects =
  (of: (key: string) => StoredAs | null) =>
  (answer: PassedAnswer): PassedAnswer => {
    if (answer.url.includes("list-type=2")) {
      const rows = answer.body.toString().replaceAll(/<Contents>.*?<\/Contents>/gs, (row) => {
        const stored = of(decodeURIComponent(/<Key>([^<]*)<\/Key>/.exec(row)?.[1] ?? ""));
        const named = `<StorageClass>${stored?.storageClass ?? ""}</StorageClass>`;
        return stored === null ? row : row.replace(/<StorageClass>[^<]*<\/StorageClass>/, named);
      });
      return { ...answer, body: Buffer.from(rows) };
    }
    const stored = of(keyOf(answer.url));
    if (stored === null) return answer;
    if (answer.method === "HEAD" && answer.status === 200) {
      const { storageClass, archiveStatus, restore } = stored;
      const headers = {
        ...answer.headers,
        "x-amz-storage-class": storageClass,
        ...(archiveStatus !== undefined && { "x-amz-archive-status": archiveStatus }),
        ...(restore !== undefined && { "x-amz-restore": restore }),
      };
      return { ...answer, headers };
    }
    if (answer.method !== "GET" || isReadable(stored)) return answer;
    return { ...answer, status: 403, headers: { "content-type": "application/xml" }, body: Buffer.from(REFUSED) };
  };
