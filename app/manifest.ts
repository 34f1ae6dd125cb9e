import type { MetadataRoute } from "next";

export default function manifest(): MetadataRoute.Manifest {
  return {
    name: "Tidemark",
    short_name: "Tidemark",
    description: "Keeps the training state of GPU nodes you do not own safe in object storage that you do own.",
    start_url: "/",
    display: "standalone",
    background_color: "#f6f7f7",
    theme_color: "#0a7771",
    icons: [{ src: "/icon.svg", sizes: "any", type: "image/svg+xml" }],
  };
}
