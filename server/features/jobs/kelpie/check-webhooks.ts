import { toFault } from "#protocol/faults/fault.ts";
import type { KelpieSubmission } from "#protocol/jobs/kelpie.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { refuseEndpoint } from "#server/platform/reach.ts";

/**
 * Checks the webhooks of a submission by the rules of their sender, so that a submitter learns at once of one that would never
 * be called. The sender checks each address again.
 */

/** Origins of one submission that are checked: a lookup of a name occupies a thread of the process. */
const MOST_CHECKED = 16;

export interface RefusedWebhook {
  /** Index of the first job with it. */
  index: number;
  message: string;
}

/** Returns the first webhook whose scheme, port or address the sender would refuse, and why; null when there is none. */
export async function findRefusedWebhook(
  hub: Hub,
  submissions: readonly Pick<KelpieSubmission, "webhook">[],
): Promise<RefusedWebhook | null> {
  const firstOf = new Map<string, number>();
  for (const [index, { webhook }] of submissions.entries()) {
    if (webhook === null) continue;
    const { origin } = new URL(webhook);
    if (!firstOf.has(origin)) firstOf.set(origin, index);
    if (firstOf.size === MOST_CHECKED) break;
  }
  const checked = [...firstOf].map(async ([origin, index]): Promise<RefusedWebhook | null> => {
    try {
      await refuseEndpoint(origin, hub.reach);
      return null;
    } catch (error) {
      const { detail } = toFault(error).toData();
      return { index, message: `webhook: the hub does not call ${origin}: ${detail ?? "its address is not allowed"}` };
    }
  });
  return (await Promise.all(checked)).find((refused) => refused !== null) ?? null;
}
