import type { Metadata } from "next";
import { visibleText } from "../../../_ui/text/visible-text.ts";
import { RunPageView } from "./run-view.tsx";

interface Params {
  params: Promise<{ run: string }>;
}

export async function generateMetadata({ params }: Params): Promise<Metadata> {
  return { title: visibleText(decodeURIComponent((await params).run)).slice(0, 80) };
}

export default async function RunPage({ params }: Params) {
  return <RunPageView name={decodeURIComponent((await params).run)} />;
}
