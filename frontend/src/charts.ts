import { mountPhaseChart } from "./charts/page";
import { mountAll } from "./mount";

mountAll(document, { "phase-series": mountPhaseChart });
