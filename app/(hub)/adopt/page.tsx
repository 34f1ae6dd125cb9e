import type { Metadata } from "next";
import { AdoptView } from "./adopt-view.tsx";

export const metadata: Metadata = { title: "Found in the bucket" };

export default function AdoptPage() {
  return <AdoptView />;
}
