interface Asked {
  nodeId: string;
  /** Epoch ms. */
  span: { from: number; to: number };
  cursor: string | null;
  limit: number;
}

/** Returns the query for all probes and transfers of a node in a time span, to any bucket, whatever their outcome. */
export const recordsAsked = ({ span, ...page }: Asked) => ({
  ...span,
  ...page,
  profileId: null,
  region: null,
  engine: null,
  kinds: [],
  outcome: null,
});
