"""From a measurement to what a page draws: rows, bars, texts. Pure: no Django, no clock; geometry in percent."""
