import { foundTraits, type FoundTraits } from "#protocol/wire/profiles.ts";
import type { Profile } from "#prisma/client/client.ts";
import { readStored } from "#server/platform/stored-json.ts";

/** Returns what tests of this store found; null before the first test. */
export const foundOf = (row: Pick<Profile, "found">): FoundTraits | null => readStored(row.found, foundTraits);
