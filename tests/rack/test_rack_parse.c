// SPDX-License-Identifier: GPL-3.0-or-later
// The rack language: every form gives its graph, every mistake is reported with its line and
// column, canonical text reads back to an equal rack, and no text does harm.

#include "engine/base/text_buffer.h"
#include "engine/rack/rack.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static Error error;

/// Documents and their expected canonical text.
static const struct {
  const char *document, *canonical;
} good[] = {
  { "", "connect in out\n" },
  { "  # nothing but a comment\n\n", "connect in out\n" },
  { "\xEF\xBB\xBF# as some editors begin\r\n", "connect in out\n" },
  { "disconnect in out", "disconnect in out\n" },
  { "late auto", "connect in out\nlate auto\n" }, // kept: --on-late does not change it
  { "late out silence\nlate -20\nlate 0dB", "connect in out\nlate dry\n" },
  { "late out:3-4 silence\nlate out:2 dry\nlate out:1 0\nchain gain",
    "add gain gain\nconnect in gain\nconnect gain out\nlate out:1-2 dry\nlate out:3-4 silence\n" },
  { "late -20dB\nlate out:2-9 silence\nlate out:4 -20dB\nlate out:6 auto",
    "connect in out\nlate -20dB\nlate out:2-3 silence\nlate out:5 silence\nlate out:6 auto\n"
    "late out:7-9 silence\n" },
  { "late out:2 -20dB\nlate out:1024 auto\ndisconnect in out",
    "disconnect in out\nlate out:2 -20dB\nlate out:1024 auto\n" },
  { "chain gain", "add gain gain\nconnect in gain\nconnect gain out\n" },
  { "gain", "add gain gain\nconnect in gain\nconnect gain out\n" },
  { "\n\n  gain -6  # quiet\n\n", "add gain gain gain=-6dB\nconnect in gain\nconnect gain out\n" },
  { "gain -6|gain 6", "add gain gain gain=-6dB\nadd gain2 gain gain=6dB\n"
                      "connect in gain\nconnect gain gain2\nconnect gain2 out\n" },
  { "chain highpass 80Hz 4 elliptic backend=cpu",
    "add highpass highpass frequency=80Hz order=4 type=elliptic backend=cpu\n"
    "connect in highpass\nconnect highpass out\n" },
  { "highpass type=elliptic order=4", // parameters in the order of the table
    "add highpass highpass order=4 type=elliptic\nconnect in highpass\nconnect highpass out\n" },
  { "highpass 1kHz order=2 type=butterworth backend=auto", // all values are the initial ones
    "add highpass highpass\nconnect in highpass\nconnect highpass out\n" },
  { "chain gain | gain | gain\nremove gain3\nchain gain", // the number after the highest in use
    "add gain gain\nadd gain2 gain\nadd gain3 gain\nconnect in gain\nconnect gain gain2\n"
    "connect gain2 out\nconnect in gain3\nconnect gain3 out\n" },
  { "chain gain | gain\nrename gain2 gain7\nchain gain",
    "add gain gain\nadd gain7 gain\nadd gain8 gain\nconnect in gain\nconnect gain gain7\n"
    "connect gain7 out\nconnect in gain8\nconnect gain8 out\n" },
  { "a: gain + b: gain",
    "add a gain\nadd b gain\nconnect in a\nconnect in b\nconnect a out\nconnect b out\n" },
  { "a: gain | b: gain + c: gain | d: gain", // + binds tighter
    "add a gain\nadd b gain\nadd c gain\nadd d gain\nconnect in a\nconnect a b\nconnect a c\n"
    "connect b d\nconnect c d\nconnect d out\n" },
  { "(a: gain | b: gain) + c: gain",
    "add a gain\nadd b gain\nadd c gain\nconnect in a\nconnect a b\nconnect in c\n"
    "connect b out\nconnect c out\n" },
  { "a: gain + b: gain | c: gain + d: gain",
    "add a gain\nadd b gain\nadd c gain\nadd d gain\nconnect in a\nconnect in b\n"
    "connect a c\nconnect b c\nconnect a d\nconnect b d\nconnect c out\nconnect d out\n" },
  { "((a: gain))", "add a gain\nconnect in a\nconnect a out\n" },
  { "(a: gain+(b: gain + (c: gain|d: gain)))|e: gain",
    "add a gain\nadd b gain\nadd c gain\nadd d gain\nadd e gain\nconnect in a\nconnect in b\n"
    "connect in c\nconnect c d\nconnect a e\nconnect b e\nconnect d e\nconnect e out\n" },
  { "gain +3dB + gain +6", // + is also a sign
    "add gain gain gain=3dB\nadd gain2 gain gain=6dB\nconnect in gain\nconnect in gain2\n"
    "connect gain out\nconnect gain2 out\n" },
  { "gain 3 |\n  # between\n\n gain 4 +\r\n gain 5",
    "add gain gain gain=3dB\nadd gain2 gain gain=4dB\nadd gain3 gain gain=5dB\nconnect in gain\n"
    "connect gain gain2\nconnect gain gain3\nconnect gain2 out\nconnect gain3 out\n" },
  { "chain (\n a: gain\n |\n b: gain\n)\nset a.gain 1",
    "add a gain gain=1dB\nadd b gain\nconnect in a\nconnect a b\nconnect b out\n" },
  { "chain in:1-2 | a: gain | out:5", "add a gain\nconnect in:1-2 a\nconnect a out:5\n" },
  { "in:1 | out:2", "connect in:1 out:2\n" },
  { "in | a: gain | out", "add a gain\nconnect in a\nconnect a out\n" },
  { "chain in:1 | a: gain | out:1\nchain in:2 | b: gain | out:2",
    "add a gain\nadd b gain\nconnect in:1 a\nconnect a out:1\nconnect in:2 b\nconnect b out:2\n" },
  { "convolver \"my hall.wav\" mix=40%",
    "add convolver convolver ir=\"my hall.wav\" mix=0.4\nconnect in convolver\n"
    "connect convolver out\n" },
  { "convolver irs/hall_2-a.wav", "add convolver convolver ir=irs/hall_2-a.wav\n"
                                  "connect in convolver\nconnect convolver out\n" },
  { "convolver ir=\"a\\\"b\\\\c#|\"", "add convolver convolver ir=\"a\\\"b\\\\c#|\"\n"
                                      "connect in convolver\nconnect convolver out\n" },
  { "convolver c:3#x+y.wav", "add convolver convolver ir=\"c:3#x+y.wav\"\n"
                             "connect in convolver\nconnect convolver out\n" },
  { "convolver h\xC3\xA4ll.wav", "add convolver convolver ir=h\xC3\xA4ll.wav\n"
                                 "connect in convolver\nconnect convolver out\n" },
  { "convolver \"on\"", "add convolver convolver ir=on\nconnect in convolver\n"
                        "connect convolver out\n" },
  { "matrix \"1 0; 0.5\t-6dB\"",
    "add matrix matrix rows=\"1 0; 0.5\t-6dB\"\nconnect in matrix\nconnect matrix out\n" },
  { "delay 480frames pingpong=on", "add delay delay time=480frames pingpong=on\n"
                                   "connect in delay\nconnect delay out\n" },
  { "delay note = 1/8", "add delay delay note=1/8\nconnect in delay\nconnect delay out\n" },
  { "add x gain\nadd y gain -3\nconnect in x\nconnect x:1 y:2 gain=-6dB\nconnect y out\n",
    "add x gain\nadd y gain gain=-3dB\nconnect in x\nconnect x:1 y:2 gain=-6dB\nconnect y out\n" },
  { "add x gain", "add x gain\n" },
  { "connect in:3-3 out", "connect in:3 out\n" },
  { "connect in out\nconnect in out gain=3", "connect in out gain=3dB\n" },
  { "connect in out gain=0dB", "connect in out\n" },
  { "chain x: gain | y: gain\nremove x\nconnect in y",
    "add y gain\nconnect in y\nconnect y out\n" },
  { "insert x gain before out -3\nrename x y\nadd z gain",
    "add y gain gain=-3dB\nadd z gain\nconnect in y\nconnect y out\n" },
  { "chain x: gain | y: gain\ndisconnect x y\nconnect y x\ndisconnect y out\ndisconnect in x\n",
    "add x gain\nadd y gain\nconnect y x\n" },
  { "chain x: gain 3\nset x.gain 0\nset x.backend gpu",
    "add x gain backend=gpu\nconnect in x\nconnect x out\n" },
  { "add gain7 gain\nadd gain gain\nchain gain", // the highest number in use, plus 1
    "add gain7 gain\nadd gain gain\nadd gain8 gain\nconnect in gain8\nconnect gain8 out\n" },
  { "add gain2 gain\nchain gain",
    "add gain2 gain\nadd gain gain\nconnect in gain\nconnect gain out\n" },
  { "chain: gain",
    "add chain gain\nconnect in chain\nconnect chain out\n" }, // here `chain` is a name
  { "chain phaser 90deg 60bpm mute=on bypass=off\nset phaser.solo on",
    "add phaser phaser angle=90deg tempo=60bpm mute=on solo=on\nconnect in phaser\n"
    "connect phaser out\n" },
  { "through + through",
    "add through through\nadd through2 through\nconnect in through\nconnect in through2\n"
    "connect through out\nconnect through2 out\n" },
};

TEST(every_form_gives_the_graph_that_it_stands_for)
{
  for (size_t i = 0; i < ARRAY_LEN(good); ++i) {
    assert_canonical(good[i].document, good[i].canonical);
  }
}

/// Documents with a mistake, and a part of the expected message.
static const struct {
  const char *document, *message;
} bad[] = {
  { "chain gian", "t:1:7: no effect \"gian\"; did you mean \"gain\"?" },
  { "gian -6", "t:1:1: no effect \"gian\"; did you mean \"gain\"?" },
  { "conect in out", "t:1:1: no statement \"conect\"; did you mean \"connect\"?" },
  { "frobnicate", "t:1:1: no effect \"frobnicate\"; one of convolver, delay, gain" },
  { "chain gain\nchian gain", "t:2:1: no statement \"chian\"; did you mean \"chain\"?" },
  { "chain gain\ngain 3", "t:2:1: \"gain\" is no statement; write: chain gain" },
  { "chain gain\n| gain",
    "t:2:1: unexpected \"|\"; put it at the end of the previous line, which then continues" },
  { "chain gain\n  + gain",
    "t:2:3: unexpected \"+\"; put it at the end of the previous line, which then continues" },
  { "chain gain 3 \\\n| gain",
    "t:1:14: unexpected \"\\\"; leave it out: a line that ends with | or + continues" },
  { "late", "t:1:5: unexpected end; write: late [out[:CHANNELS]] auto|dry|silence|LEVEL" },
  { "late out:2", "t:1:6: late takes auto, dry, silence or a level such as -20dB, not \"out:2\"" },
  { "late loud", "t:1:6: late takes auto, dry, silence or a level such as -20dB, not \"loud\"" },
  { "late out:2 3dB", "t:1:12: late 3dB is out of range; -120dB to 0dB" },
  { "late -20ms", "t:1:6: late takes a number in dB, not \"-20ms\"" },
  { "late in dry", "t:1:6: late is for the rack's outputs; write out or out:1-2" },
  { "late out:0 dry", "t:1:6: \"0\" are no channels" },
  { "late out dry dry", "t:1:14: unexpected \"dry\"; write: late [out" },
  { "late out 1 dry",
    "t:1:12: unexpected \"dry\"; write: late [out[:CHANNELS]] auto|dry|silence|LEVEL" },
  { "late 1-2 dry",
    "t:1:6: unexpected \"1-2\"; write: late [out[:CHANNELS]] auto|dry|silence|LEVEL" },
  { "late out:1=-20dB",
    "t:1:11: unexpected \"=\"; write: late [out[:CHANNELS]] auto|dry|silence|LEVEL" },
  { "connect in out -6dB", "t:1:16: unexpected \"-6dB\"; write: gain=-6dB" },
  { "add a gain 3 connect in a",
    "t:1:14: unexpected \"connect\"; put each statement on a line of its own" },
  { "convolver my set hall.wav",
    "t:1:14: put quotes around a text with spaces: \"my set hall.wav\"" },
  { "gain 3 and highpass 80",
    "t:1:8: unexpected \"and\"; put | between effects and a space between values" },
  { "highpass type=fc gain 3", "t:1:15: type has no choice \"fc\"; one of" },
  { "vol: 3", "t:1:1: no effect \"vol\"; did you mean \"gain\"?" },
  { "a: gain | b: gain | a",
    "t:1:21: \"a\" is a node, not an effect; a statement connects nodes: connect FROM TO" },
  { "gain | output", "t:1:8: no effect \"output\"; the ends of a chain are in and out" },
  { "vol=gain 3", "t:1:4: put a colon, not =, after a name: vol: gain" },
  { "main.rack",
    "t:1:1: \"main.rack\" is the file of a whole rack; load it with /rack/load, or as RACK" },
  { "add vol gain\nremove gain", "t:2:8: no node \"gain\"; the node with this effect is \"vol\"" },
  { "add vol gain\nremove highpass", "t:2:8: no node \"highpass\"; one of vol" },
  { "gain\ngain", "t:2:1: unexpected \"gain\"; this text is one chain" },
  { "chain", "t:1:6: unexpected end; the name of an effect" },
  { "chain\nadd x gain", "t:1:6: unexpected end of the line" },
  { "chain gain |", "t:1:13: unexpected end" },
  { "chain gain | | gain", "t:1:14: unexpected \"|\"" },
  { "chain | gain", "t:1:7: unexpected \"|\"" },
  { "chain + gain", "t:1:7: unexpected \"+\"" },
  { "chain gain +", "t:1:13: unexpected end" },
  { "chain ()", "t:1:8: unexpected \")\"" },
  { "chain (gain", "t:1:7: \"(\" is not closed; add \")\"" },
  { "chain gain | (gain + (gain)", "t:1:14: \"(\" is not closed" },
  { "chain gain)", "t:1:11: unexpected \")\"; there is no" },
  { "chain (gain) gain", "t:1:14: unexpected \"gain\"" },
  { "chain x: (gain)", "t:1:10: unexpected \"(\"" },
  { "chain x:", "t:1:9: unexpected end" },
  { "chain x: y: gain", "t:1:10: no effect \"y\"" },
  { "chain in: gain", "t:1:7: \"in\" is an end of the rack" },
  { "chain out: gain", "t:1:7: \"out\" is an end of the rack" },
  { "chain in gain", "t:1:10: unexpected \"gain\"; \"|\" comes after in" },
  { "chain gain | in", "t:1:14: \"in\" cannot be here" },
  { "chain gain + out", "t:1:14: \"out\" cannot be here" },
  { "chain (gain | out)", "t:1:15: \"out\" cannot be here" },
  { "chain out | gain", "t:1:11: unexpected \"|\"" },
  { "chain in:0 | gain", "t:1:7: \"0\" are no channels" },
  { "chain gain | out:1-1025", "t:1:14: \"1-1025\" are no channels" },
  { "chain x: gain | x: gain", "t:1:17: the name \"x\" is taken" },
  { "chain gain | gain: gain", "t:1:14: the name \"gain\" is taken" },
  { "chain gain 3 lim: gain", "t:1:14: \"lim:\" names a new node; put | or + before it" },
  { "chain gain 80dB", "t:1:12: gain 80dB is out of range; -120dB to 40dB" },
  { "chain gain 3 4", "t:1:14: gain takes at most 1 value; \"4\" is one too many" },
  { "chain phaser 3 120 on", "t:1:20: phaser takes at most 2 values; \"on\" is one too many" },
  { "chain gain 3 gain=4", "t:1:14: gain is given twice" },
  { "chain gain gain=4 gain=4", "t:1:19: gain is given twice" },
  { "chain gain backend=cpu backend=cpu", "t:1:24: backend is given twice" },
  { "chain highpass order=4 80", "t:1:24: unexpected \"80\"; after the first key=value" },
  { "chain highpass 80 Hz", "t:1:19: \"Hz\" stands alone; write the number and its unit without a "
                            "space: 80Hz" },
  { "chain highpass Hz", "t:1:16: \"Hz\" stands alone; write the number and its unit without a" },
  { "chain gain -6 dB",
    "t:1:15: \"dB\" stands alone; write the number and its unit without a space: "
    "-6dB" },
  { "gain -1 dBfs",
    "t:1:9: \"dBfs\" stands alone; write the number and its unit without a space, and "
    "dB for dBfs: -1dB" },
  { "gain 3 | highpass 80 hertz", "t:1:22: \"hertz\" stands alone; write the number and its unit "
                                  "without a space, and Hz for hertz: 80Hz" },
  { "add v gain\nset v.gain -6 dB", "t:2:15: \"dB\" stands alone; write the number and its unit "
                                    "without a space: -6dB" },
  { "connect in out gain=-6 dB",
    "t:1:24: \"dB\" stands alone; write the number and its unit without a "
    "space: -6dB" },
  { "connect in out -3,5dB", "t:1:16: unexpected \"-3,5dB\"; write: gain=-3.5dB" },
  { "connect in out dB", "t:1:16: \"dB\" stands alone; write the number and its unit without a" },
  { "late -20 dB",
    "t:1:10: \"dB\" stands alone; write the number and its unit without a space: -20dB" },
  { "late out -20 dB",
    "t:1:14: \"dB\" stands alone; write the number and its unit without a space: "
    "-20dB" },
  { "gain 3 : highpass",
    "t:1:8: unexpected \":\"; put | between effects and a space between values" },
  { "gain : highpass",
    "t:1:6: unexpected \":\"; put | between effects and a space between values" },
  { "gain: 3", "t:1:1: put a space, not :, after the effect: gain 3" },
  { "chain highpass freq=80",
    "t:1:16: highpass has no parameter \"freq\"; did you mean \"frequency\"?" },
  { "chain highpass order=", "t:1:22: unexpected end; a value comes here" },
  { "chain highpass order=|", "t:1:22: unexpected \"|\"; a value comes here" },
  { "chain highpass =4", "t:1:16: put a space, not =, after the effect: highpass 4" },
  { "chain highpass backend=cuda",
    "t:1:24: backend has no choice \"cuda\"; one of auto, cpu, gpu" },
  { "tremolo 5", "t:1:1: no effect \"tremolo\"; one of convolver, delay, gain" },
  { "HIGHPASS 80", "t:1:1: no effect \"HIGHPASS\"; did you mean \"highpass\"?" },
  { "chain highpass 80 gain -3", "t:1:19: \"gain\" is an effect; put | before it" },
  { "highpass 80, gain -3", "t:1:10: unexpected \"80,\"; put | between effects and a space" },
  { "80; gain -3", "t:1:1: unexpected \"80;\"; put | between effects" },
  { "gain -> highpass", "t:1:6: unexpected \"->\"; put | between effects" },
  { "gain > highpass", "t:1:6: unexpected \">\"; put | between effects" },
  { "gain => highpass", "t:1:6: unexpected \"=>\"; put | between effects" },
  { "add a gain 3; connect in a",
    "t:1:12: unexpected \"3;\"; put each statement on a line of its" },
  { "add a gain; connect in a",
    "t:1:7: unexpected \"gain;\"; put each statement on a line of its" },
  { "connect in out; connect in out", "t:1:12: unexpected \"out;\"; put each statement on a line" },
  { "connect in; out", "t:1:9: unexpected \"in;\"; write: connect FROM TO" },
  { "gain 3 // quiet", "t:1:8: unexpected \"//\"; put # before a comment" },
  { "highpass 80 out", "t:1:13: \"out\" is an end of the rack; put | before it" },
  { "highpass 80 out:2", "t:1:13: \"out:2\" is an end of the rack; put | before it" },
  { "gain+highpass", "t:1:1: unexpected \"gain+highpass\"; put a space on each side of +" },
  { "gain 3=>highpass", "t:1:7: unexpected \"=>\"; put | between effects" },
  { "highpass order 4, frequency 80", "t:1:10: \"order\" is a parameter; write order=4" },
  { "convolver C:\\a.wav", "t:1:11: put quotes around a text with a colon: \"C:\\\\a.wav\"" },
  { "convolver a b.wav 30%", "t:1:13: put quotes around a text with spaces: \"a b.wav\"" },
  { "convolver a b c.wav + gain", "t:1:13: put quotes around a text with spaces: \"a b c.wav\"" },
  { "convolver a.wav b: gain", "t:1:17: \"b:\" names a new node; put | or + before it" },
  { "gain 3 \xE2\x86\x92 highpass", "t:1:8: unexpected \"\xE2\x86\x92\"; put | between" },
  { "gain,highpass", "t:1:1: unexpected \"gain,highpass\"; put | between" },
  { "gain 1,5", "t:1:6: gain takes a point in its number: 1.5" },
  { "highpass frequency 80", "t:1:10: \"frequency\" is a parameter; write frequency=80" },
  { "convolver a.wav wet 0.5",
    "t:1:17: \"wet\" is not a value; for the parameter mix write mix=0.5" },
  { "convolver a.wav wet: 0.5",
    "t:1:17: \"wet\" is not a value; for the parameter mix write mix=VALUE" },
  { "convolver a.wav MIX:0.5",
    "t:1:17: \"MIX\" is not a value; for the parameter mix write mix=0.5" },
  { "convolver my wet hall.wav",
    "t:1:14: put quotes around a text with spaces: \"my wet hall.wav\"" },
  { "highpass order=4 fc 80", "t:1:18: \"fc\" is not a value; for the parameter frequency write "
                              "frequency=80" },
  { "highpass order:4", "t:1:10: \"order\" is a parameter; write order=4" },
  { "highpass type:elliptic", "t:1:10: \"type\" is a parameter; write type=VALUE" },
  { "highpass order=4 frequency 80", "t:1:18: \"frequency\" is a parameter; write" },
  { "gain gain -3", "t:1:6: \"gain\" is a parameter and an effect; write gain=-3 for the" },
  { "highpass 80 elliptic", "t:1:13: \"elliptic\" is a value of type; write type=elliptic" },
  { "highpass 80 gain=-3", "t:1:13: highpass has no parameter \"gain\"; one of frequency, order, "
                           "type, backend; for the effect \"gain\" put | before it" },
  { "gain=3", "t:1:5: put a space, not =, after the effect: gain 3" },
  { "convolver my hall.wav", "t:1:14: put quotes around a text with spaces: \"my hall.wav\"" },
  { "convolver my big hall.wav",
    "t:1:14: put quotes around a text with spaces: \"my big hall.wav\"" },
  { "convolver mix=0.5 ir=my hall.wav", "t:1:25: put quotes around a text" },
  { "convolver hall.wav gain 3", "t:1:20: \"gain\" is an effect; put | before it" },
  { "convolver wet=0.5", "t:1:11: convolver has no parameter \"wet\"; did you mean \"mix\"?" },
  { "add highpass 80", "t:1:14: unexpected \"80\"; write: add NAME EFFECT" },
  { "add a gain\nconnect in -> a", "t:2:12: unexpected \"->\"; write: connect FROM TO" },
  { "add a gain\nset a.gain=3", "t:2:11: unexpected \"=\"; write: set NODE.PARAM VALUE" },
  { "in:L | gain", "t:1:1: \"in\" is an end of the rack and names no node; its channels are" },
  { "in | gain | out | gain", "t:1:17: unexpected \"|\"; a chain ends with out" },
  { "gain) | gain", "t:1:5: unexpected \")\"; there is no \"(\" for it" },
  { "highpass(80)", "t:1:9: unexpected \"(\"; put | before a group" },
  { "highpass:80", "t:1:1: \"highpass:80\" is no effect; a value follows a space" },
  { "lowpass=f=80", "t:1:1: no effect \"lowpass\"" },
  { "highpass=f=80", "t:1:9: put a space, not =, after the effect: highpass KEY=VALUE" },
  { "convolver my\\ hall.wav", "t:1:15: put quotes around a text with spaces: \"my hall.wav\"" },
  { "connect in gain", "t:1:12: no node \"gain\"; it is an effect: add gain gain makes a node" },
  { "add a gain\nconnect input a", "t:2:9: no node \"input\"; did you mean \"in\"?" },
  { "chain gain\ngain.gain -3", "t:2:1: \"gain.gain\" is no statement; write: set NODE.PARAM" },
  { "chain through 1", "t:1:15: through takes at most 0 values" },
  { "chain convolver \"hall.wav", "t:1:17: the text is not closed" },
  { "chain convolver \"hall\nx\"", "t:1:17: the text is not closed" },
  { "chain convolver \"a\\n\"", "t:1:19: unknown escape" },
  { "chain convolver \"a\x01\"", "t:1:19: a control character" },
  { "chain gain \x02", "t:1:12: a control character" },
  { "chain \"gain\"", "t:1:7: unexpected \"gain\"" },
  { "\n\n  add x\n", "t:3:8: unexpected end of the line" },
  { "add x gain )", "t:1:12: unexpected \")\"" },
  { "# \xC3\xA4\xC3\xB6\nchain convolver \xC3\xA4\xC3\xB6 2", "t:2:20: mix 2 is out of range" },
  { "remove x", "t:1:8: no node \"x\"; the rack has none yet" },
  { "add x gain\nset x.gain 99", "t:2:12: gain 99dB is out of range" },
  { "add x gain\nset xx.gain 9", "t:2:5: no node \"xx\"; did you mean \"x\"?" },
  { "add x gain\nset x. 9", "t:2:7: gain has no parameter \"\"" },
  { "connect in x", "t:1:12: no node \"x\"" },
  { "add a gain\nadd b gain\nadd c gain\nconnect a b\n  connect b c\nconnect c a\nconnect in a",
    "t:6:9: signal would go in a circle: a > b > c > a" },
  { "add a gain\nadd b gain\nadd c gain\nconnect c a\nconnect b c\nconnect in a\nconnect a b",
    "t:7:9: signal would go in a circle" }, // at the last connection of the circle
  { "chain a: gain | b: gain\nconnect b a", "t:2:9: signal would go in a circle: a > b > a" },
};

TEST(every_mistake_is_reported_with_its_line_and_column)
{
  for (size_t i = 0; i < ARRAY_LEN(bad); ++i) {
    assert_refused(bad[i].document, bad[i].message);
  }
}

/// Returns `before`, n times `text`, and `after`.
static char*
repeated(const char* const before, const char* const text, const size_t n, const char* const after)
{
  const size_t length = strlen(text);
  char* const whole = malloc(strlen(before) + n * length + strlen(after) + 1U);
  char* to = stpcpy(whole, before);
  for (size_t i = 0; i < n; ++i) {
    to = stpcpy(to, text);
  }
  strcpy(to, after);
  return whole;
}

TEST(bounds_are_kept)
{
  const struct {
    const char *before, *text, *after;
    size_t n;
    Status status;
  } cases[] = {
    { "", "(", "gain", 65, STATUS_LIMIT },
    { "", "(", "gain", 1000000, STATUS_LIMIT },
    { "chain gain", " | gain", "", RACK_MAX_NODES - 1U, STATUS_OK },
    { "chain gain", " | gain", "", RACK_MAX_NODES, STATUS_LIMIT },
    { "chain (gain", " + gain", ") | (gain + gain + gain + gain)", 4000, STATUS_LIMIT }, // edges
    { "", "#", "", RACK_MAX_TEXT, STATUS_OK },
    { "", "#", "", RACK_MAX_TEXT + 1U, STATUS_LIMIT },
    { "convolver \"", "x", "\"", RACK_MAX_TEXT / 2U - 1U, STATUS_OK },
    { "convolver \"", "x", "\"", RACK_MAX_TEXT / 2U, STATUS_LIMIT },
    { "gain ", "1", "dB", 500, STATUS_BAD_RACK },
  };
  for (size_t i = 0; i < ARRAY_LEN(cases); ++i) {
    SCOPED_MEMORY char* const text =
        repeated(cases[i].before, cases[i].text, cases[i].n, cases[i].after);
    SCOPED_RACK Rack* rack = NULL;
    ck_assert_msg(rack_parse(text, "t", NULL, &rack, &error) == cases[i].status, "%zu: %s", i,
                  error.text);
  }
  SCOPED_MEMORY char* const open = repeated("", "(", RACK_MAX_DEPTH, "gain");
  SCOPED_MEMORY char* const closed = repeated(open, ")", RACK_MAX_DEPTH, "");
  rack_free(rack_of(closed, NULL));
}

static uint32_t
below(uint64_t* const state, const uint32_t n)
{
  return (uint32_t)(signal_random(state) % n);
}

/// Give a parameter a random valid value.
static void
set_randomly(Rack* const rack, const RackNode* const node, const uint32_t p, uint64_t* const state)
{
  const FxParam* const param = &node->fx->params[p];
  const double share = (double)(signal_random(state) >> 11U) * 0x1p-53;
  double number = param->min + share * (param->max - param->min);
  char text[32];
  switch (param->kind) {
  case PARAM_FILE:
  case PARAM_TEXT:
    for (uint32_t i = 0; i < 31U; ++i) {
      text[i] = (char)(below(state, 8) ? ' ' + below(state, 95) : 0x80 + below(state, 128));
    }
    text[below(state, 32)] = '\0';
    text[31] = '\0';
    ck_assert_int_eq(set_text_by_name(rack, node->name, param->id, text, &error), STATUS_OK);
    return;
  case PARAM_INTEGER:
    number = (double)(int)number;
    break;
  case PARAM_SWITCH:
    number = below(state, 2);
    break;
  case PARAM_CHOICE:
    number = fx_choice_number(param, below(state, 3));
    break;
  default:
    break;
  }
  ck_assert_int_eq(set_number_by_name(rack, node->name, param->id, number, &error), STATUS_OK);
}

static Rack*
random_rack(uint64_t* const state)
{
  static const char* const plugins[] = { "clap ZamComp", "ladspa tap_reverb", "lv2 fil4-stereo" };
  uint32_t n_effects = 0;
  const FxInfo* const* const effects = fx_table(&n_effects);
  Rack* const rack = rack_new();
  char names[2][96];
  const uint32_t n_nodes = below(state, 12);
  for (uint32_t n = 0; n < n_nodes; ++n) {
    snprintf(names[0], sizeof(names[0]), "n%u", n);
    const uint32_t pick = below(state, n_effects + ARRAY_LEN(plugins));
    const char* const effect = pick < n_effects ? effects[pick]->name : plugins[pick - n_effects];
    ck_assert_int_eq(rack_add(rack, names[0], effect, &error), STATUS_OK);
    const FxInfo* const fx = rack->nodes[n].fx;
    for (uint32_t p = 0; p < fx->n_params; ++p) {
      if (below(state, 2)) {
        set_randomly(rack, rack_find(rack, names[0]), p, state);
      }
    }
    rack->nodes[n].backend = (RackBackend)below(state, 3);
  }
  for (uint32_t e = below(state, 20); e > 0; --e) {
    const uint32_t from = below(state, n_nodes + 1U); // n_nodes stands for in or out
    const uint32_t to = below(state, n_nodes + 1U);
    const uint32_t first = 1U + below(state, 9);
    snprintf(names[0], 96, from < n_nodes ? "n%u" : "in", from);
    snprintf(names[1], 96, to < n_nodes ? "n%u:%u-%u" : "out", to, first, first + below(state, 2));
    const double gain_db = below(state, 2) ? 0.0 : (double)below(state, 1600) * 0.1 - 120.0;
    const Status status = rack_connect(rack, names[0], names[1], gain_db, &error);
    ck_assert(status == STATUS_OK || status == STATUS_BAD_RACK); // a circle
  }
  return rack;
}

TEST(canonical_text_reads_back_to_an_equal_rack)
{
  uint64_t state = 7;
  for (uint32_t i = 0; i < 1000U; ++i) {
    SCOPED_RACK Rack* const rack = random_rack(&state);
    ck_assert_int_eq(rack_check(rack, &error), STATUS_OK);
    SCOPED_MEMORY char* const text = rack_print(rack);
    SCOPED_RACK Rack* const again = rack_of(text, rack);
    ck_assert_msg(rack_equal(rack, again), "%s", text);
    SCOPED_MEMORY char* const text_again = rack_print(again);
    ck_assert_str_eq(text, text_again);
    for (uint32_t n = 0; n < rack->n_nodes; ++n) {
      ck_assert_uint_eq(rack->nodes[n].uid, again->nodes[n].uid);
    }
  }
}

/// Change a document in one to four places: remove, insert, overwrite, or copy a piece.
static void
mutate(char* const text, const size_t room, uint64_t* const state)
{
  static const char spice[] = "|+():=\"\\#\n \t-.0123456789eabgxdHzB%\x01\xC3";
  for (uint32_t n = 1U + below(state, 4); n > 0; --n) {
    const size_t length = strlen(text);
    const uint32_t at = below(state, (uint32_t)length + 1U);
    const char c = spice[below(state, sizeof(spice) - 1U)];
    switch (below(state, 4)) {
    case 0:
      memmove(text + at, text + at + (at < length), length + 1U - at - (at < length));
      break;
    case 1:
      if (length + 2U < room) {
        memmove(text + at + 1U, text + at, length + 1U - at);
        text[at] = c;
      }
      break;
    case 2:
      text[at] = at < length ? c : '\0';
      break;
    default: {
      const uint32_t from = below(state, (uint32_t)length + 1U);
      const size_t span = below(state, 12);
      if (from + span <= length && at + span <= length) {
        memmove(text + at, text + from, span);
      }
    }
    }
  }
}

TEST(mutated_documents_are_read_or_refused_and_do_no_harm)
{
  uint64_t state = 11;
  uint32_t n_read = 0;
  SCOPED_RACK Rack* const base = rack_new();
  for (uint32_t i = 0; i < 20000U; ++i) {
    char text[512];
    snprintf(text, sizeof(text), "%s",
             i % 3U ? good[below(&state, ARRAY_LEN(good))].document
                    : bad[below(&state, ARRAY_LEN(bad))].document);
    mutate(text, sizeof(text), &state);
    SCOPED_RACK Rack* rack = NULL;
    error.text[0] = '\0';
    if (rack_parse(text, "t", base, &rack, &error)) {
      ck_assert(!rack && !strncmp(error.text, "t:", 2U));
      ck_assert_int_ne(rack_apply(base, "", "t", NULL), STATUS_OK);
      continue;
    }
    ++n_read;
    SCOPED_MEMORY char* const printed = rack_print(rack);
    SCOPED_RACK Rack* again = NULL;
    ck_assert_msg(!rack_parse(printed, "t", NULL, &again, &error), "%s\n%s", text, error.text);
    ck_assert_msg(rack_equal(rack, again), "%s", text);
  }
  ck_assert_uint_gt(n_read, 1000); // enough documents were valid
  ck_assert_uint_lt(n_read, 19000);
}

/// A chain of n gains; the caller frees it.
static char*
long_chain(const uint32_t n)
{
  TextBuffer text = { .bytes = NULL };
  for (uint32_t i = 0; i < n; ++i) {
    text_buffer_add(&text, i ? " | gain" : "gain");
  }
  return text_buffer_take(&text);
}

TEST(a_connection_that_is_there_is_found_among_many)
{
  SCOPED_MEMORY char* const chain = long_chain(20U);
  char text[512];
  snprintf(text, sizeof(text),
           "chain %s\nconnect gain3 gain4 gain=-6dB\nconnect gain3:1 gain4:2\n"
           "disconnect gain5 gain6\nconnect gain5 gain6 gain=-3dB\nconnect gain5 gain6",
           chain);
  SCOPED_RACK Rack* rack = NULL;
  ck_assert(!rack_parse(text, "test", NULL, &rack, &error));
  ck_assert_uint_eq(rack->n_edges, 22U); // 21 of the chain, and one from channel to channel
  const RackEnd from = { .uid = rack_find(rack, "gain3")->uid };
  const RackEnd to = { .uid = rack_find(rack, "gain4")->uid };
  ck_assert_double_eq(rack->edges[rack_find_edge(rack, from, to, 0U)].gain_db, -6.0);
  for (uint32_t e = 0; e < rack->n_edges; ++e) {
    const RackEdge* const edge = &rack->edges[e];
    const uint32_t guesses[] = { e, e + 3U, e - 3U, 0U, UINT32_MAX, 3U * rack->n_edges };
    for (uint32_t g = 0; g < ARRAY_LEN(guesses); ++g) {
      ck_assert_uint_eq(rack_find_edge(rack, edge->from, edge->to, guesses[g]), e);
    }
  }
  ck_assert_uint_eq(rack_find_edge(rack, to, from, 3U), rack->n_edges);
}

/// The shortest of several times to read a text, of this thread.
static double
time_to_parse(const char* const text)
{
  double least_s = INFINITY;
  for (uint32_t i = 0; i < 5U; ++i) {
    struct timespec began;
    struct timespec ended;
    Rack* rack = NULL;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &began);
    ck_assert(!rack_parse(text, "test", NULL, &rack, &error));
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended);
    rack_free(rack);
    least_s = fmin(least_s, (double)(ended.tv_sec - began.tv_sec) +
                                1e-9 * (double)(ended.tv_nsec - began.tv_nsec));
  }
  return least_s;
}

TEST(the_time_to_read_a_rack_grows_with_its_nodes_and_not_with_their_square)
{
  double times_s[2][2]; // of a chain, and of the statements of its document
  for (uint32_t i = 0; i < 2U; ++i) {
    SCOPED_MEMORY char* const chain = long_chain(i ? 4000U : 500U);
    Rack* rack = NULL;
    ck_assert(!rack_parse(chain, "test", NULL, &rack, &error));
    SCOPED_MEMORY char* const document = rack_print(rack);
    rack_free(rack);
    times_s[0][i] = time_to_parse(chain);
    times_s[1][i] = time_to_parse(document);
  }
  for (uint32_t t = 0; t < 2U; ++t) {
    ck_assert_msg(times_s[t][1] < 24.0 * times_s[t][0], "500 nodes: %g s, 4000 nodes: %g s",
                  times_s[t][0], times_s[t][1]); // 8 times the nodes; a square is 64 times
  }
}

SUITE_MAIN("rack_parse")
