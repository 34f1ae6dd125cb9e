"use client";
import { useQuery } from "@tanstack/react-query";
import { Link } from "../_ui/navigation/link.tsx";
import { useState } from "react";
import { formatDuration } from "#protocol/base/units.ts";
import type { TokenView } from "#protocol/wire/views.ts";
import { hubNow, useHubNow, useNodes } from "../_hub/live/live.tsx";
import { tokensQuery } from "../_hub/queries/queries.ts";
import { nodeFactsLine } from "../_nodes/node-filter.ts";
import { Banner } from "../_ui/feedback/banner.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";

const PATIENCE_MS = 90_000;

/** Waits for nodes that enroll with this token and shows each one that joined, or hints when none has. */
export function WaitForNode({ token }: { token: TokenView }) {
  const nodes = useNodes();
  const tokens = useQuery({ ...tokensQuery(), refetchInterval: 3000 });
  const now = useHubNow(1000);
  const [startedAt] = useState(hubNow);
  const stored = tokens.data?.find((one) => one.id === token.id) ?? token;
  const joined = [...(nodes?.values() ?? [])].filter((node) => node.tokenId === token.id);
  if (joined.length > 0)
    return (
      <Banner
        tone="safe"
        title={
          <>
            {joined.map((node, index) => (
              <span key={node.id}>
                {index > 0 && ", "}
                <Link href={`/nodes/${encodeURIComponent(node.id)}`} className="underline">
                  {visibleText(node.name)}
                </Link>
              </span>
            ))}{" "}
            {joined.length === 1 ? "has joined." : "have joined."}
          </>
        }
      >
        {joined.length === 1 && joined[0] !== undefined && visibleText(nodeFactsLine(joined[0]))}
        {stored.uses < stored.maxUses && ` ${stored.maxUses - stored.uses} more may use this token.`}
      </Banner>
    );
  if (stored.revokedAt !== null)
    return (
      <Banner tone="lost" title="The token was revoked.">
        Create a new one.
      </Banner>
    );
  if (now > stored.expiresAt)
    return (
      <Banner tone="lost" title="The token has expired.">
        Create a new one.
      </Banner>
    );
  if (stored.uses > 0)
    return (
      <Banner tone="moving" title="The token was used.">
        The node appears in a moment.
      </Banner>
    );
  return (
    <Banner tone="moving" title="Waiting for the node.">
      This turns green by itself; the token is valid for {formatDuration(Math.max(0, stored.expiresAt - now))}.
      {now - startedAt > PATIENCE_MS &&
        " Nothing has enrolled yet. The worker's output tells whether the hub cannot be reached, or why it refused the node."}
    </Banner>
  );
}
