# SPDX-License-Identifier: GPL-3.0-or-later
"""`warprack import`: the impulse response of the printed rack is compared with the digital filters of the cookbook for
each line of the settings."""

from common import *

LIMIT = 1e-4  # relative error of the complex response: 0.001 dB
CURVE_LIMIT_DB = 0.5
LENGTH = 1 << 18


def biquad(kind, f, rate, gain=0.0, q=None, slope=None, octaves=None):
    """The digital filters of Robert Bristow-Johnson's cookbook."""
    a = 10 ** (gain / 40)
    w = 2 * np.pi * f / rate
    c, s = np.cos(w), np.sin(w)
    if slope is not None:
        alpha = s / 2 * np.sqrt((a + 1 / a) * (1 / slope - 1) + 2)
    elif octaves is not None:
        alpha = s * np.sinh(np.log(2) / 2 * octaves * w / s)
    else:
        alpha = s / (2 * q)
    r = 2 * np.sqrt(a) * alpha
    den = [1 + alpha, -2 * c, 1 - alpha]
    if kind == "peak":
        num, den = [1 + alpha * a, -2 * c, 1 - alpha * a], [1 + alpha / a, -2 * c, 1 - alpha / a]
    elif kind == "lowpass":
        num = [(1 - c) / 2, 1 - c, (1 - c) / 2]
    elif kind == "highpass":
        num = [(1 + c) / 2, -1 - c, (1 + c) / 2]
    elif kind == "bandpass":
        num = [alpha, 0, -alpha]
    elif kind == "notch":
        num = [1, -2 * c, 1]
    elif kind == "allpass":
        num = den[::-1]
    elif kind == "lowshelf":
        num = [a * ((a + 1) - (a - 1) * c + r), 2 * a * ((a - 1) - (a + 1) * c), a * ((a + 1) - (a - 1) * c - r)]
        den = [(a + 1) + (a - 1) * c + r, -2 * ((a - 1) + (a + 1) * c), (a + 1) + (a - 1) * c - r]
    elif kind == "highshelf":
        num = [a * ((a + 1) + (a - 1) * c + r), -2 * a * ((a - 1) + (a + 1) * c), a * ((a + 1) + (a - 1) * c - r)]
        den = [(a + 1) - (a - 1) * c + r, 2 * ((a - 1) - (a + 1) * c), (a + 1) - (a - 1) * c - r]
    return num, den


def gain(level):
    return lambda rate: ([10 ** (level / 20)], [1])


def section(kind, f, level=0.0, **width):
    return lambda rate: biquad(kind, f, rate, level, **width)


def corner(kind, f, level, **width):
    """A shelf whose frequency is its corner (as REW's author describes the DCX2496), with a slope, or with Q as in
    Equalizer APO."""
    slope = width.get("slope")
    if slope is None:
        a = 10 ** (level / 40)
        slope = 1 / ((1 / width["q"] ** 2 - 2) / (a + 1 / a) + 1)
    shift = 10 ** (abs(level) / 80 / slope)
    return section(kind, f * shift if kind == "lowshelf" else f / shift, level, **width)


def first_order(kind, f):
    return lambda rate: sig.butter(1, f, kind, fs=rate)


def response(sections, frequencies, rate):
    total = np.ones(len(frequencies), complex)
    for make in sections:
        num, den = make(rate)
        total *= sig.freqz(num, den, worN=frequencies, fs=rate)[1]
    return total


def rendered(name, rate, channels=1):
    """The frequency response of the rack that `import` prints for a file, one row per channel, and its messages."""
    made = subprocess.run([PROGRAM, "import", name], capture_output=True, text=True, timeout=60, check=False)
    assert made.returncode == 0, made.stderr
    with open("made.rack", "w", encoding="utf-8") as rack:
        rack.write(made.stdout)
    impulse = np.zeros((LENGTH, channels))
    impulse[0] = 1.0
    write_wav("in.wav", rate, impulse)
    done = render("made.rack", "in.wav", "out.wav", "--tail", "0")
    assert done.returncode == 0, done.stderr
    return np.fft.rfft(read_wav("out.wav")[1].T.astype(np.float64)), made.stderr


AUTOEQ = (
    "Preamp: -6.2 dB\n"
    "Filter 1: ON LSC Fc 105 Hz Gain 6.4 dB Q 0.70\n"
    "Filter 2: ON PK Fc 105 Hz Gain 5.5 dB Q 0.70\n"
    "Filter 3: OFF PK Fc 37 Hz Gain 0.7 dB Q 3.96\n"
    "Filter 4: ON HSC Fc 10000 Hz Gain -2.1 dB Q 0.70\n",
    [
        gain(-6.2),
        section("lowshelf", 105, 6.4, q=0.7),
        section("peak", 105, 5.5, q=0.7),
        section("highshelf", 10000, -2.1, q=0.7),
    ],
)
FIXED_BANDS = (
    "Preamp: -7.4 dB\r\nFilter 1: ON PK Fc 31 Hz Gain -1.2 dB Q 1.41\r\nFilter 2: ON PK Fc 16000 Hz Gain 4 dB Q 1.41\r\n",
    [gain(-7.4), section("peak", 31, -1.2, q=1.41), section("peak", 16000, 4, q=1.41)],
)
REW = (
    "Filter Settings file\n\nRoom EQ V5,01\nDated: 16.05.2013 21:56:38\n\nNotes:all of them\n\n"
    "Equaliser: Generic\nNo measurement\n"
    "Filter  1: ON  PK       Fc    50,0 Hz  Gain -10,0 dB  Q  2,50\n"
    "Filter  2: ON  Modal    Fc     100 Hz  Gain   3,0 dB  Q  5,41  T60 target   100 ms\n"
    "Filter  3: ON  LP       Fc   8.000 Hz\n"
    "Filter  4: ON  HP1      Fc    30,0 Hz\n"
    "Filter  5: ON  LP Q     Fc  10.000 Hz  Q  2,500\n"
    "Filter  6: ON  HPQ      Fc    20,0 Hz  Q  0,500\n"
    "Filter  7: ON  LS       Fc     300 Hz  Gain   5,0 dB\n"
    "Filter  8: ON  HS       Fc   1.000 Hz  Gain  -3,0 dB\n"
    "Filter  9: ON  LS 12dB  Fc   2.000 Hz  Gain  -5,0 dB\n"
    "Filter 10: ON  HS 6dB   Fc  12.000 Hz  Gain  10,0 dB\n"
    "Filter 11: ON  NO       Fc     800 Hz\n"
    "Filter 12: ON  All pass Fc     900 Hz  Q  0,707\n"
    "Filter 13: ON  None\n"
    "Filter  1: OFF None\n",
    [
        section("peak", 50, -10, q=2.5),
        section("peak", 100, 3, q=5.41),
        section("lowpass", 8000, q=np.sqrt(0.5)),
        first_order("highpass", 30),
        section("lowpass", 10000, q=2.5),
        section("highpass", 20, q=0.5),
        section("lowshelf", 300, 5, slope=0.9),
        section("highshelf", 1000, -3, slope=0.9),
        corner("lowshelf", 2000, -5, slope=1.0),
        corner("highshelf", 12000, 10, slope=0.5),
        section("notch", 800, q=30.0),
        section("allpass", 900, q=0.707),
    ],
)
APO = (
    "# EqualizerAPO\nPreamp: -3 dB\nFilter: ON BP Fc 1000 Hz Q 0.8\nFilter: ON LSC 10.8 dB Fc 300 Hz Gain 5 dB\n"
    "Filter: ON HS Fc 400 Hz Gain 6 dB Q 0.5\nFilter: ON PK Q 2 Gain 1.5 dB Fc 1,250 Hz\nPreamp: -1 dB\n",
    [
        gain(-4),
        section("bandpass", 1000, q=0.8),
        section("lowshelf", 300, 5, slope=0.9),
        corner("highshelf", 400, 6, q=0.5),
        section("peak", 1250, 1.5, q=2),
    ],
)
CHANNELS = (
    "Channel: L\nFilter: ON PK Fc 100 Hz Gain 3 dB Q 1\nChannel: 2\nPreamp: -6 dB\n"
    "Filter: ON PEQ Fc 200 Hz Gain -4 dB BW Oct 0.5\nChannel: all\nFilter: ON NO Fc 50 Hz Q 5\n",
    [section("peak", 100, 3, q=1), section("notch", 50, q=5)],
    [gain(-6), section("peak", 200, -4, octaves=0.5), section("notch", 50, q=5)],
)

worst = 0.0
with scratch():
    for text, *channels in (AUTOEQ, FIXED_BANDS, REW, APO, CHANNELS):
        name = text.split("\n")[0]
        with open("settings.txt", "w", encoding="utf-8", newline="") as settings:
            settings.write(text)
        for rate in (44100, 48000, 96000):
            got, said = rendered("settings.txt", rate, len(channels))
            assert not said, said
            frequencies = np.fft.rfftfreq(LENGTH, 1 / rate)
            audible = (frequencies >= 20) & (frequencies <= 20000)
            for row, sections in zip(got, channels):
                expected = response(sections, frequencies[audible], rate)
                # Relative to the response, but at least to 1 % of full scale, because a notch leaves no signal.
                error = np.max(np.abs(row[audible] - expected) / np.maximum(np.abs(expected), 1e-2))
                worst = max(worst, error)
                print(f"{name:20.20} {rate:6} Hz: {error:.1e}")
    print(f"worst: {worst:.1e} of the response (limit {LIMIT:g})")

    # 127 points, as AutoEq writes them, of a curve whose features are half an octave wide or wider.
    points = 20.0 * 10 ** (np.arange(127) / 42)
    random = np.random.default_rng(10)
    levels = np.zeros(127)
    for _ in range(12):
        centre, width = random.uniform(1.3, 4.25), random.uniform(0.08, 0.45)  # decades
        levels += random.uniform(-6, 6) * np.exp(-(((np.log10(points) - centre) / width) ** 2))
    levels -= levels.max()
    with open("GraphicEQ.txt", "w", encoding="utf-8") as settings:
        settings.write("GraphicEQ: " + "; ".join(f"{f:.1f} {g:.2f}" for f, g in zip(points, levels)))
    got, said = rendered("GraphicEQ.txt", 48000)
    frequencies = np.fft.rfftfreq(LENGTH, 1 / 48000)
    audible = (frequencies >= 20) & (frequencies <= 20000)
    curve = np.interp(np.log(frequencies[audible]), np.log(points), levels)
    off = np.max(np.abs(20 * np.log10(np.abs(got[0][audible])) - curve))
    print(f"GraphicEQ: largest error {off:.2f} dB (limit {CURVE_LIMIT_DB:g}), the curve spans {np.ptp(levels):.1f} dB")
    assert not said, said

sys.exit(int(worst > LIMIT or off > CURVE_LIMIT_DB))
