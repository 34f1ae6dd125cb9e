import { foundTraits, type FoundTraits } from "#protocol/profiles.ts";
import type { Profile } from "#prisma/client/client.ts";

/** What tests of this store found out; null before the first one. */
export const foundOf = (row: Pick<Profile, "found">): FoundTraits | null =>
  row.found === null ? null : foundTraits.parse(JSON.parse(row.found));
