import type { ProfileView } from "#protocol/wire/profile-views.ts";
import type { ProfileDraft } from "#protocol/wire/requests.ts";
import { visibleText } from "../_ui/text/visible-text.ts";

type Place = Pick<ProfileDraft, "endpoint" | "bucket" | "prefix">;

const hostOf = (endpoint: string): string => URL.parse(endpoint)?.host ?? endpoint;

/** Returns a warning when another profile has the same or an overlapping place, or null. */
export function sameBucket(
  draft: Place,
  others: readonly { profile: Place & Pick<ProfileView["profile"], "name"> }[],
): { title: string; next: string } | null {
  const there = others.filter(
    ({ profile }) => profile.bucket === draft.bucket && hostOf(profile.endpoint) === hostOf(draft.endpoint),
  );
  const same = there.find(({ profile }) => profile.prefix === draft.prefix);
  const within = there.find(
    ({ profile }) => profile.prefix.startsWith(draft.prefix) || draft.prefix.startsWith(profile.prefix),
  );
  const found = same ?? within;
  if (found === undefined) return null;
  const name = visibleText(found.profile.name);
  return {
    title:
      same === undefined
        ? `The prefix overlaps with that of ${name}, in the same bucket.`
        : `${name} has this bucket and prefix already.`,
    next: "Both would list, keep and clean up the same objects. Use another prefix, or change that profile instead.",
  };
}
