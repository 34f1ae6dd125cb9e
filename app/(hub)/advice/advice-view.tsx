"use client";
import { AdvicePanel } from "../../_advice/advice-panel.tsx";
import { useAddressWord } from "../../_hub/address/address.ts";
import { PageHead } from "../../_shell/page-head.tsx";
import { onDemand } from "../../_ui/loading/on-demand.tsx";
import { Tabs } from "../../_ui/layout/tabs.tsx";

const ThresholdsPanel = onDemand(() =>
  import("../../_advice/thresholds-panel.tsx").then((module) => module.ThresholdsPanel),
);

/** Shows advice from the fleet's history, and a simulation of other link thresholds. */
export function AdviceView() {
  const [show, setShow] = useAddressWord("show", "advice");
  return (
    <>
      <PageHead title="Advice" about="Findings from the stored history of your links, each with its evidence." />
      <Tabs
        label="Advice"
        value={show === "thresholds" ? show : "advice"}
        onChange={setShow}
        items={[
          { id: "advice", label: "From history", body: <AdvicePanel /> },
          { id: "thresholds", label: "Thresholds", body: <ThresholdsPanel /> },
        ]}
      />
    </>
  );
}
