import type { Metadata } from "next";
import { CheckpointPageView } from "./checkpoint-view.tsx";

export const metadata: Metadata = { title: "Checkpoint" };

export default async function CheckpointPage({ params }: { params: Promise<{ id: string }> }) {
  return <CheckpointPageView id={decodeURIComponent((await params).id)} />;
}
