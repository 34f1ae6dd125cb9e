import type { Finding } from "#protocol/alerts/advice.ts";
import type { LinkRow } from "./link-row.ts";

/** Returns the fields of a finding about one node and one bucket: whom it is about, and no better alternative. */
export const aboutLink = ({ node, profileId }: Pick<LinkRow, "node" | "profileId">) =>
  ({ node, profileId, region: null, run: null, betterId: null, better: null, nodes: 1 }) satisfies Partial<Finding>;
