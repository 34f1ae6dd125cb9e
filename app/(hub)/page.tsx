import type { Metadata } from "next";
import { OverviewView } from "../_overview/overview-view.tsx";

export const metadata: Metadata = { title: "Overview" };

export default function OverviewPage() {
  return <OverviewView />;
}
