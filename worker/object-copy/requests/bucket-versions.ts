import type { KeepsVersions } from "#protocol/base/kept-versions.ts";
import { faultOfAnswer } from "#storage/answers/faults.ts";
import { parseXml, textOf } from "#storage/answers/xml.ts";
import type { StoreSession } from "#worker/store-session/store-session.ts";
import { askStore } from "./ask-store.ts";

const OP = "GetBucketVersioning";

/**
 * Returns whether the bucket keeps deleted objects as old versions, in which case a deletion frees nothing. This covers
 * object lock too, which requires versioning. Takes one request. Null where the store refuses it, does not know it, or does
 * not answer: a deletion never fails for it.
 */
export async function keepsVersions(storeSession: StoreSession, signal: AbortSignal): Promise<KeepsVersions> {
  const question = { op: OP, method: "GET", at: "bucket", query: [["versioning", ""]], signal } as const;
  try {
    return await askStore(storeSession, question, (answer) => {
      const parsed = answer.status === 200 ? parseXml(answer.body) : null;
      if (parsed === null || parsed.root !== "VersioningConfiguration") throw faultOfAnswer({ op: OP, answer });
      const status = textOf(parsed.element, "Status")?.trim();
      return status === "Suspended" ? "some" : status === "Enabled";
    });
  } catch {
    return null;
  }
}
