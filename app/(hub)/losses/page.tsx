import type { Metadata } from "next";
import { LossesView } from "./losses-view.tsx";

export const metadata: Metadata = { title: "Lost work" };

export default function LossesPage() {
  return <LossesView />;
}
