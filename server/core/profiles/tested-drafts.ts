import { createHmac, randomBytes } from "node:crypto";
import type { KeyBy, KeySource, ProfileDraft } from "#protocol/wire/requests.ts";
import type { ProfileTestView } from "#protocol/wire/profile-views.ts";
import type { Hub } from "../api/hub.ts";

/**
 * A draft that was tested before it was saved: if it is saved unchanged, it keeps the result. The result is found by a keyed
 * hash of everything that decides it. The hash covers the key, which itself is not kept.
 */
export interface TestedDraft {
  /** The id of the profile whose stored key was used; null: the draft came with a key. */
  id: string | null;
  profile: ProfileDraft;
  credential: KeySource | null;
  keyBy: KeyBy | null;
}

const MOST = 32;
const KEPT_MS = 3_600_000;
const SALT = randomBytes(32);
const known = new WeakMap<Hub, Map<string, ProfileTestView>>();

function markOf({ id, profile, credential, keyBy }: TestedDraft): string {
  // The name does not affect the result of a test.
  const place = Object.entries(profile)
    .filter(([name]) => name !== "name")
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  const used = JSON.stringify([credential === null ? id : null, place, credential, keyBy]);
  return createHmac("sha256", SALT).update(used).digest("base64");
}

export function keepTested(hub: Hub, draft: TestedDraft, view: ProfileTestView): void {
  const tested = known.get(hub) ?? new Map<string, ProfileTestView>();
  known.set(hub, tested);
  const mark = markOf(draft);
  tested.delete(mark);
  tested.set(mark, view);
  for (const oldest of tested.keys()) if (tested.size > MOST) tested.delete(oldest);
}

/** Returns the result columns of a profile that was tested in exactly this form within the last hour; else nothing. */
export function testedColumns(hub: Hub, draft: TestedDraft): { lastTest?: string; found?: string } {
  const view = known.get(hub)?.get(markOf(draft));
  if (view === undefined || hub.now() - view.at > KEPT_MS) return {};
  return { lastTest: JSON.stringify(view), found: JSON.stringify(view.found) };
}
