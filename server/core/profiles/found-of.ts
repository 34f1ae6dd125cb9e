import { foundTraits, type FoundTraits } from "#protocol/wire/profiles.ts";
import type { Profile } from "#prisma/client/client.ts";
import { readStored } from "#server/platform/stored-json.ts";

/** What tests of this store found out; null before the first one. */
export const foundOf = (row: Pick<Profile, "found">): FoundTraits | null => readStored(row.found, foundTraits);
