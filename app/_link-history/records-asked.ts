interface Asked {
  nodeId: string;
  /** Epoch ms. */
  span: { from: number; to: number };
  cursor: string | null;
  limit: number;
}

/** Every probe and transfer of a node in a time, to whichever bucket, however it ended. */
export const recordsAsked = ({ span, ...page }: Asked) => ({
  ...span,
  ...page,
  profileId: null,
  region: null,
  engine: null,
  kinds: [],
  outcome: null,
});
