import type { Metadata } from "next";
import { AdviceView } from "./advice-view.tsx";

export const metadata: Metadata = { title: "Advice" };

export default function AdvicePage() {
  return <AdviceView />;
}
