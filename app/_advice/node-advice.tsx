"use client";
import { useQuery } from "@tanstack/react-query";
import { Panel } from "../_ui/layout/panel.tsx";
import { AdviceItem } from "./advice-item.tsx";
import { adviceQuery } from "./advice-panel.tsx";

/** Shows the advice on one node; renders nothing when there is none. */
export function NodeAdvice({ nodeId }: { nodeId: string }) {
  const advice = useQuery(adviceQuery(nodeId)).data?.advice.filter(({ dismissal }) => dismissal === null) ?? [];
  if (advice.length === 0) return null;
  return (
    <Panel label="Advice" title="Advice" note="from its own history">
      <ul aria-label="Advice">
        {advice.map((one) => (
          <AdviceItem key={one.key} advice={one} place="node" />
        ))}
      </ul>
    </Panel>
  );
}
