import { type Counter, type Histogram, type Meter, metrics } from '@opentelemetry/api';
import {
  type AttributesOf,
  type CounterName,
  type GaugeName,
  type HistogramName,
  INSTRUMENTS,
  type Instrument,
  type InstrumentName,
} from './instruments.js';

/**
 * Made at their first use, which comes after the start of telemetry: what is made before it measures nothing.
 * Where telemetry is off, using one costs a look into a map.
 */
const counters = new Map<CounterName, Counter>();
const histograms = new Map<HistogramName, Histogram>();

export function count<N extends CounterName>(name: N, attributes: AttributesOf<N>, value = 1): void {
  const counter = counters.get(name) ?? meter().createCounter(name, optionsOf(name));
  counters.set(name, counter);
  counter.add(value, attributes);
}

export function measure<N extends HistogramName>(name: N, value: number, attributes: AttributesOf<N>): void {
  const histogram = histograms.get(name) ?? meter().createHistogram(name, optionsOf(name));
  histograms.set(name, histogram);
  histogram.record(value, attributes);
}

/** Seconds since a `performance.now()`. */
export const secondsSince = (start: number) => (performance.now() - start) / 1000;

/** Tells a gauge's value whenever somebody wants to know; several times for several attributes. */
export function observe<N extends GaugeName>(
  name: N,
  read: (tell: (value: number, attributes: AttributesOf<N>) => void) => void | Promise<void>,
): void {
  const gauge = meter().createObservableGauge(name, optionsOf(name));
  gauge.addCallback((result) => read((value, attributes) => result.observe(value, attributes)));
}

const meter = (): Meter => metrics.getMeter('parley');

function optionsOf(name: InstrumentName) {
  const { unit, text: description, buckets }: Instrument = INSTRUMENTS[name];
  return { unit, description, advice: buckets && { explicitBucketBoundaries: [...buckets] } };
}
